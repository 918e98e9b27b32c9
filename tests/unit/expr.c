/* Expressions: what they are read as, what is refused and where the caret stands, and that no text does harm.  What they are
 * worked out to be is tests/program/expr.t's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"
#include "kernels_help.h"

/* A test's name is one line. */
static const char *shown(const char *text, char room[101])
{
    size_t n = 0;
    for (; text[n] && n < 100; n++)
        room[n] = text[n] < ' ' ? ' ' : text[n];
    room[n] = '\0';
    return room;
}

/* ---- reading */

static void test_text(void)
{
    static const struct { const char *text, *canonical; } t[] = {
        {"x", "x"},
        {" x\n*\t2 ", "x * 2"},
        {"1+2*3-4/x%(int)7", NULL},
        {"x*2+1<3||x>4&&!(x==5)", "x * 2 + 1 < 3 || x > 4 && !(x == 5)"},
        {"x-(1-x)-(2+3)", "x - (1 - x) - (2 + 3)"},
        {"(x-1)-x", "x - 1 - x"},
        {"x/(x*2)/3*x", "x / (x * 2) / 3 * x"},
        {"-x*-2", "-x * -2"},
        {"-(x*2)", "-(x * 2)"},
        {"- -x", "-(-x)"},
        {"+x", "x"},
        {"x>0?x:x<0?-x:0", "x > 0 ? x : x < 0 ? -x : 0"},
        {"(x>0?x:1)?2:3", "(x > 0 ? x : 1) ? 2 : 3"},
        {"x>0?(x>1?1:2):3", "x > 0 ? x > 1 ? 1 : 2 : 3"},
        {"1<<2+3", "1 << 2 + 3"},
        {"(i&3)==1", "(i & 3) == 1"},
        {"i&3|i^5&~i", "i & 3 | i ^ 5 & ~i"},
        {"(i|1)&6", "(i | 1) & 6"},
        {"x>=0&x<1", "x >= 0 & x < 1"},
        {"fabs(x)+abs(x)", "abs(x) + abs(x)"},
        {"M_PI+pi+M_E+INFINITY+NAN", "pi + pi + e + inf + nan"},
        {"(int)x+int(x)+(long)x", "(int)x + (int)x + (int)x"},
        {"(double)i+float(1)", "(float)i + (float)1"},
        {"(float)x", "x"},
        {"-(int)x", "-(int)x"},
        {"(int)-x", "(int)-x"},
        {"(int)(x+1)", "(int)(x + 1)"},
        {"(x)[0]", NULL},
        {"x [ 1 ]", "x[1]"},
        {"x[row%2]*x[0] , row", "x[row % 2] * x[0], row"},
        {"clamp(x,0,1)+min(x,2)", "clamp(x, 0, 1) + min(x, 2)"},
        {"true?x:false", "true ? x : false"},
        {"x+1.0+.5+1e3+0x1p-1+0x1.8p1+1.f+2.5F+1.L", "x + 1.0 + 0.5 + 1000.0 + 0.5 + 3.0 + 1.0 + 2.5 + 1.0"},
        {"x*0.1f", "x * 0.10000000149011612"},
        {"0xff+10u+1UL+2ll+0", "255 + 10 + 1 + 2 + 0"},
        {"1e-7*x", "1e-07 * x"},
        {"1e30", "1e+30"},
        {"9223372036854775807", "9223372036854775807"},
        {"4/2+x", "4 / 2 + x"},
        {"1.0/2", "1.0 / 2"},
        {"i/2", "i / 2"},
        {"row_mean-row_std*row_var/row_min+row_max-row_sum", "row_mean - row_std * row_var / row_min + row_max - row_sum"},
        {"nrows*ncols+col+row", "nrows * ncols + col + row"},
        {"+(x>0)|2", "(int)(x > 0) | 2"},
        {"exp(log(tanh(sqrt(x))))", "exp(log(tanh(sqrt(x))))"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_expr *e = NULL, *again = NULL;
        struct cud_err err = {0}, none = {0};
        char text[1000] = "", twice[1000] = "", name[101];
        const bool read = cud_expr_parse(t[i].text, &e, &err) == CUD_OK;
        if (read)
            cud_expr_text(e, text, sizeof text);
        if (read && cud_expr_parse(text, &again, &none) == CUD_OK)
            cud_expr_text(again, twice, sizeof twice);
        ok(t[i].canonical ? strcmp(text, t[i].canonical) == 0 && strcmp(twice, text) == 0 : !read, "%s is %s%s", shown(t[i].text, name), text, err.text);
        cud_expr_free(e);
        cud_expr_free(again);
    }
}

static void test_cut(void)
{
    struct cud_expr *e = NULL;
    struct cud_err err = {0};
    char text[6] = "";
    ok(cud_expr_parse("x + x * 2", &e, &err) == CUD_OK && cud_expr_text(e, text, sizeof text) == 9 && strcmp(text, "x + x") == 0,
       "what there is no room for is left out: '%s'", text);
    cud_expr_free(e);
}

/* ---- refusing.  The caret is the ^ in the second string. */

static void test_refused(void)
{
    static const struct { const char *text, *caret, *says; } t[] = {
        {"", "^", "empty"},
        {"  ", "  ^", "empty"},
        {"x +", "   ^", "ends where a value should be"},
        {"x + * 2", "    ^", "a value should be here, not '*'"},
        {"x ** 2", "  ^", "pow(x, 2)"},
        {"x ^ 2", "  ^", "pow(x, 2)"},
        {"x ^ x", "  ^", "exclusive or"},
        {"2x", " ^", "2*x"},
        {"3 x", "  ^", "operator"},
        {"3(x)", " ^", "operator"},
        {"x(3)", "^", "x is no function"},
        {"pi(3)", "^", "pi is no function"},
        {"x = 1", "  ^", "== compares"},
        {"x + y", "    ^", "'y' is no name"},
        {"x + expp(x)", "    ^", "did you mean exp?"},
        {"row_meen", "^", "row_mean"},
        {"x and 1", "  ^", "&&"},
        {"not x", "^", "write !"},
        {"x if x else 0", "  ^", "? value : other"},
        {"data * 2", "^", "write x"},
        {"(x", "^", "no ')'"},
        {"exp(x", "   ^", "no ')'"},
        {"x[1", " ^", "no ']'"},
        {"x ? 1", "  ^", "no ':'"},
        {"x ? 1, 2", "     ^", "':' should be here, not ','"},
        {"(x, 1)", "  ^", "')' should be here, not ','"},
        {"(x 1)", "   ^", "operator or ')'"},
        {"x)", " ^", "nothing is open"},
        {"x]", " ^", "nothing is open"},
        {"x, ", "   ^", "ends"},
        {", x", "^", "a value should be here"},
        {"x; x", " ^", "statements"},
        {"x $ 2", "  ^", "'$' means nothing"},
        {"x \xc3\x97 2", "  ^", "'\xc3\x97' means nothing"},
        {"\"a\"", "^", "means nothing"},
        {"exp", "^", "exp(...)"},
        {"exp()", "^", "1 argument, not 0"},
        {"exp(x, x)", "^", "1 argument, not 2"},
        {"min(x)", "^", "2 arguments, not 1"},
        {"clamp(x, 1, 2, 3, 4)", "^", "3 arguments, not 5"},
        {"1 / 2 * x", "  ^", "write 1.0/2"},
        {"(1 + 2) / 2", "        ^", "3/2 is 1"},
        {"-1 / 2", "   ^", "-1.0/2"},
        {"1 / 0", "  ^", "divided by 0"},
        {"row % 0", "    ^", "divided by 0"},
        {"x % 2", "  ^", "fmod"},
        {"x << 1", "  ^", "<< is of whole numbers"},
        {"1.5 & 1", "    ^", "& is of whole numbers"},
        {"~x", "^", "(int)"},
        {"~(x > 0)", "^", "write !"},
        {"0 < x < 1", "      ^", "a < b && b < c"},
        {"x == 1 == 1", "       ^", "&&"},
        {"i & 1 == 0", "  ^", "(i & 1) == 0"},
        {"x[1.5]", "  ^", "(int)"},
        {"010", "^", "octal"},
        {"08.5x", "    ^", "no number"},
        {"1.2.3", "^", "no number"},
        {"1e", "^", "exponent"},
        {"0x", "^", "no number"},
        {"0x1.8", "^", "no number"},
        {"1.5u", "   ^", "no number"},
        {"9223372036854775808", "^", "9223372036854775807"},
        {"1e999", "^", "so great"},
        {"1e39f", "^", "so great"},
        {"x +\n x y", "   ^", "operator"},
        {"x + 11111111111 + 11111111111 + 11111111111 + 11111111111 + 11111111111 + 11111111111 + yy + 2222222222 + 222222222222222",
         "                                                               ^", "'yy'"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_expr *e = NULL;
        struct cud_err err = {0};
        char name[101];
        const bool refused = cud_expr_parse(t[i].text, &e, &err) == CUD_EUSAGE;
        ok(refused && strstr(err.text, t[i].says) && (size_t)err.caret == strlen(t[i].caret) - 1, "'%s' is refused: %s", shown(t[i].text, name), err.text);
        if (!refused || (size_t)err.caret != strlen(t[i].caret) - 1)
            printf("#     %s\n#     %*s^\n", err.shown, err.caret, "");
        cud_expr_free(e);
    }
}

static void test_long(void)
{
    char text[CUD_EXPR_TEXT + 2] = "";
    struct cud_expr *e = NULL;
    struct cud_err err = {0}, deep = {0}, longer = {0};
    for (size_t i = 0; i < CUD_EXPR_TEXT; i++)
        text[i] = i % 2 ? '+' : 'x';
    text[CUD_EXPR_TEXT - 1] = ' ';
    ok(cud_expr_parse(text, &e, &err) == CUD_OK, "%d characters: %s", CUD_EXPR_TEXT, err.text);
    cud_expr_free(e);
    memset(text, 'x', CUD_EXPR_TEXT + 1);
    ok(cud_expr_parse(text, &e, &longer) == CUD_EUSAGE, "one more: %s", longer.text);
    memset(text, '(', CUD_EXPR_TEXT);
    text[CUD_EXPR_TEXT] = '\0';
    ok(cud_expr_parse(text, &e, &deep) == CUD_EUSAGE, "%d parentheses: %s", CUD_EXPR_TEXT, deep.text);
}

/* ---- what depends on the array */

static void test_compile(void)
{
    enum { FLAT = 1, IN_PLACE = 2, BY_ROW = 4, REFUSED = 8 };
    static const struct { const char *text; enum cud_type type; uint64_t cols; int is; uint64_t cols_out; unsigned facts; const char *says; } t[] = {
        {"x * 2", CUD_F32, 3, FLAT | IN_PLACE, 3, 0, ""},
        {"x + i", CUD_F32, 3, FLAT | IN_PLACE, 3, 0, ""},
        {"x / nrows + ncols", CUD_F64, 3, FLAT | IN_PLACE, 3, 0, ""},
        {"x + row", CUD_F32, 3, IN_PLACE, 3, 0, ""},
        {"x + col", CUD_F32, 3, IN_PLACE, 3, 0, ""},
        {"x - row_mean", CUD_F32, 3, IN_PLACE, 3, 1 << CUD_ROW_MEAN, ""},
        {"x * 0 + (row_std - row_std) + row_min", CUD_F32, 3, IN_PLACE, 3, 1 << CUD_ROW_STD | 1 << CUD_ROW_MIN, ""},
        {"x - x[0]", CUD_F32, 3, 0, 3, 0, ""},
        {"x - x[(int)x]", CUD_F32, 3, 0, 3, 0, ""},
        {"x[0]", CUD_F32, 3, BY_ROW, 1, 0, ""},
        {"x[0], x[2]", CUD_F32, 3, BY_ROW, 2, 0, ""},
        {"row_sum", CUD_F32, 3, BY_ROW, 1, 1 << CUD_ROW_SUM, ""},
        {"row", CUD_F32, 3, BY_ROW, 1, 0, ""},
        {"1", CUD_F32, 3, BY_ROW, 1, 0, ""},
        {"x[0] + row + col", CUD_F32, 1, FLAT | IN_PLACE, 1, 0, ""},
        {"1", CUD_F32, 1, FLAT | IN_PLACE, 1, 0, ""},
        {"x, x * x, row", CUD_F32, 1, BY_ROW, 3, 0, ""},
        {"row_sum", CUD_F32, 0, BY_ROW, 1, 1 << CUD_ROW_SUM, ""},
        {"x[3]", CUD_F32, 3, REFUSED, 0, 0, "3 elements"},
        {"x[-1]", CUD_F32, 3, REFUSED, 0, 0, "x[-1]"},
        {"x[ncols]", CUD_F32, 3, REFUSED, 0, 0, "x[3]"},
        {"x[0]", CUD_F32, 0, REFUSED, 0, 0, "0 elements"},
        {"x, 1", CUD_F32, 3, REFUSED, 0, 0, "x[0]"},
        {"x[1], i", CUD_F32, 3, REFUSED, 0, 0, "row"},
        {"x * 1e39", CUD_F32, 3, REFUSED, 0, 0, "f32"},
        {"x * 1e39", CUD_F64, 3, FLAT | IN_PLACE, 3, 0, ""},
        {"x * 1e-60", CUD_F32, 3, REFUSED, 0, 0, "so small"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_expr *e = NULL;
        struct cud_err err = {0};
        struct cud_expr_code c = {0};
        const struct cud_expr_array array = {t[i].type, 10, t[i].cols};
        int is = cud_expr_parse(t[i].text, &e, &err) == CUD_OK && cud_expr_compile(e, &array, &c, &err) == CUD_OK ? 0 : REFUSED;
        is |= c.flat * FLAT | c.in_place * IN_PLACE | c.by_row * BY_ROW;
        ok(is == t[i].is && c.cols == t[i].cols_out && c.facts == t[i].facts && strstr(err.text, t[i].says), "%s of %llu columns: %d%s%s",
           t[i].text, (unsigned long long)t[i].cols, is, *err.text ? ", " : "", err.text);
        cud_expr_code_free(&c);
        cud_expr_free(e);
    }
}

/* ---- random text */

static const char *const pieces[] = {
    "x", "i", "row", "col", "nrows", "ncols", "row_mean", "row_std", "pi", "inf", "nan", "true", "1", "2", "0", "0.5", "1e3", "0x1p3", "-",
    "+", "*", "/", "%", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "&&", "||", "!", "~", "?", ":", "(", ")", "[",
    "]", ",", " ", "(int)", "(float)", "min(", "clamp(", "exp(", "abs(", "isnan(", "x[", "x[1]", "e", ".", "\n", "\xff", "\xc3\xa4", "=", "9999999999999999999",
};

static void test_random(size_t rounds)
{
    uint64_t state = 5;
    size_t read = 0, compiled = 0, bad = 0;
    for (size_t round = 0; round < rounds; round++) {
        char text[400] = "", again[2000];
        struct cud_expr *e = NULL, *second = NULL;
        struct cud_err err = {0};
        struct cud_expr_code c = {0};
        const struct cud_expr_array array = {round % 2 ? CUD_F64 : CUD_F32, 10, random_bits(&state) % 4};
        for (size_t n = random_bits(&state) % 12; n > 0; n--)
            strcat(text, pieces[random_bits(&state) % (sizeof pieces / sizeof *pieces)]);
        if (cud_expr_parse(text, &e, &err) == CUD_OK) {
            read++;
            bad += cud_expr_text(e, again, sizeof again) >= sizeof again || cud_expr_parse(again, &second, &err) != CUD_OK;
            compiled += !bad && cud_expr_compile(e, &array, &c, &err) == CUD_OK;
        }
        bad += !e && (err.caret < 0 || (size_t)err.caret > strlen(err.shown));
        if (bad)
            printf("# %s: %s\n", text, err.text);
        cud_expr_code_free(&c);
        cud_expr_free(e);
        cud_expr_free(second);
        if (bad)
            break;
    }
    ok(bad == 0 && read > rounds / 50 && compiled > rounds / 100, "of %zu random texts %zu are expressions, %zu fit an array", rounds, read, compiled);
}

/* A balanced tree of n levels: as many registers as may be. */
static void nest(char *text, int n)
{
    if (n == 0) {
        strcat(text, "x");
        return;
    }
    strcat(text, "(");
    nest(text, n - 1);
    strcat(text, n % 3 == 0 ? "?" : n % 3 == 1 ? "-" : "*");
    nest(text, n - 1);
    if (n % 3 == 0) {
        strcat(text, ":");
        nest(text, n - 1);
    }
    strcat(text, ")");
}

static void test_registers(void)
{
    char tree[CUD_EXPR_TEXT + 1] = "", shared[CUD_EXPR_TEXT + 1] = "";
    nest(tree, 7);
    for (int k = 0; k < 20; k++)           /* twenty terms that are all used again behind the last one */
        sprintf(shared + strlen(shared), "%ssqrt(x+%d)", k ? "+" : "", k);
    strcat(shared, "-(");
    for (int k = 0; k < 20; k++)
        sprintf(shared + strlen(shared), "%ssqrt(x+%d)", k ? "*" : "", k);
    strcat(shared, ")");
    const char *const text[] = {tree, shared};
    for (int k = 0; k < 2; k++) {
        struct cud_expr *e = NULL;
        struct cud_err err = {0};
        struct cud_expr_code c = {0};
        const struct cud_expr_array array = {CUD_F32, 10, 1};
        ok(cud_expr_parse(text[k], &e, &err) == CUD_OK && cud_expr_compile(e, &array, &c, &err) == CUD_OK, "%s: there are registers enough: %s",
           k ? "shared terms" : "a tree", err.text);
        cud_expr_code_free(&c);
        cud_expr_free(e);
    }
}

int main(void)
{
    const char *const set = getenv("CUDIST_TEST_SET");
    test_text();
    test_cut();
    test_refused();
    test_long();
    test_compile();
    test_registers();
    test_random(set && strcmp(set, "long") == 0 ? 2000000 : 20000);
    return done_testing();
}
