/* Tokens of expressions, as C's (C17 6.4.4, 6.4.6), without octal numbers and those of C's operators that change something. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expr_own.h"

enum cud_status cud_expr_fail(const char *text, size_t at, struct cud_err *err, const char *format, ...)
{
    char reason[600];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    (void)FAIL(err, CUD_EUSAGE, "%s", reason);
    cud_err_point(err, text, at);
    return CUD_EUSAGE;
}

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t digits(const char *s, bool hex)
{
    size_t n = 0;
    while (hex ? isxdigit((unsigned char)s[n]) : isdigit((unsigned char)s[n]))
        n++;
    return n;
}

/* Of an exponent, e+10 or p-3, if there is one. */
static size_t exponent(const char *s, bool hex)
{
    if (tolower((unsigned char)*s) != (hex ? 'p' : 'e'))
        return 0;
    const size_t sign = s[1] == '+' || s[1] == '-', n = digits(s + 1 + sign, false);
    return n ? 1 + sign + n : 0;
}

static bool whole_suffix(const char *s, size_t n)
{
    static const char *const known[] = {"", "u", "l", "ul", "lu", "ll", "ull", "llu"};
    char low[4] = "";
    for (size_t i = 0; i < n && n < sizeof low; i++)
        low[i] = (char)tolower((unsigned char)s[i]);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n < sizeof low && strcmp(low, known[i]) == 0)
            return true;
    return false;
}

static enum cud_status bad_number(const char *text, size_t at, size_t n, size_t all, struct cud_err *err)
{
    const char *const s = text + at;
    const bool hex = s[0] == '0' && tolower((unsigned char)s[1]) == 'x';
    const int all_of_it = (int)(all < 40 ? all : 40);
    if (all == n + 1 && (tolower((unsigned char)s[n]) == 'e' || tolower((unsigned char)s[n]) == 'p'))
        return cud_expr_fail(text, at, err, "'%.*s' is no number: its exponent is missing", all_of_it, s);
    if (isalpha((unsigned char)s[n]) && !hex)
        return cud_expr_fail(text, at + n, err, "'%.*s' is no number; to multiply, write %.*s*%.*s", all_of_it, s,
                             (int)(n < 20 ? n : 20), s, (int)(all - n < 20 ? all - n : 20), s + n);
    return cud_expr_fail(text, at, err, "'%.*s' is no number", all_of_it, s);
}

static enum cud_status read_whole(const char *text, struct cud_token *t, bool hex, size_t n, struct cud_err *err)
{
    const char *const s = text + t->at;
    if (!hex && n > 1 && s[0] == '0')
        return cud_expr_fail(text, t->at, err, "a number that begins with 0 is octal in C: leave the 0 out, or write 0x");
    errno = 0;
    const unsigned long long u = strtoull(s, NULL, hex ? 16 : 10);
    if (errno || u > INT64_MAX)
        return cud_expr_fail(text, t->at, err, "whole numbers go to 9223372036854775807; with a point it is a real");
    t->kind = CUD_TOKEN_WHOLE;
    t->value.i = (int64_t)u;
    return CUD_OK;
}

/* With an f it is a float's value, as in C. */
static enum cud_status read_real(const char *text, struct cud_token *t, bool single, struct cud_err *err)
{
    const char *const s = text + t->at;
    const double r = single ? (double)strtof(s, NULL) : strtod(s, NULL);
    if (r > 1.7976931348623157e308 || (single && r > 3.4028234663852886e38))
        return cud_expr_fail(text, t->at, err, "no real is so great");
    t->kind = CUD_TOKEN_REAL;
    t->value.r = r;
    return CUD_OK;
}

static enum cud_status read_number(const char *text, struct cud_token *t, struct cud_err *err)
{
    const char *const s = text + t->at;
    const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    const size_t start = hex ? 2 : 0, before = digits(s + start, hex), point = s[start + before] == '.';
    const size_t after = point ? digits(s + start + before + 1, hex) : 0, e = exponent(s + start + before + point + after, hex);
    const size_t n = start + before + point + after + e;
    const bool real = point || e;
    size_t all = n;
    while (in_name(s[all]) || s[all] == '.')
        all++;
    t->n = (uint32_t)all;
    const bool single = all == n + 1 && tolower((unsigned char)s[n]) == 'f', plain = all == n || (all == n + 1 && strchr("lL", s[n]));
    if (before + after == 0 || (hex && real && !e) || !(real ? single || plain : whole_suffix(s + n, all - n)))
        return bad_number(text, t->at, n, all, err);
    return real ? read_real(text, t, single, err) : read_whole(text, t, hex, n, err);
}

/* Signs of two characters, then of one; and what others write for them. */
static enum cud_status read_sign(const char *text, struct cud_token *t, struct cud_err *err)
{
    static const char *const two[] = {"&&", "||", "==", "!=", "<=", ">=", "<<", ">>"};
    const char *const s = text + t->at;
    t->kind = CUD_TOKEN_SIGN;
    t->n = 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(s, two[i], 2) == 0)
            t->n = 2;
    if (t->n == 2 || strchr("+-*/%<>!~&|^?:()[],", *s))
        return CUD_OK;
    if (*s == '=')
        return cud_expr_fail(text, t->at, err, "nothing can be assigned to; == compares");
    if (*s == ';')
        return cud_expr_fail(text, t->at, err, "an expression has no statements; a comma separates results");
    size_t n = 1;
    while (((unsigned char)s[n] & 0xc0) == 0x80)       /* the rest of a UTF-8 character */
        n++;
    return cud_expr_fail(text, t->at, err, "'%.*s' means nothing in an expression", (int)n, s);
}

enum cud_status cud_token_read(const char *text, size_t at, struct cud_token *token, struct cud_err *err)
{
    while (isspace((unsigned char)text[at]))
        at++;
    *token = (struct cud_token){.at = (uint32_t)at};
    const char c = text[at];
    if (c == '\0')
        return CUD_OK;
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)text[at + 1])))
        return read_number(text, token, err);
    if (!isalpha((unsigned char)c) && c != '_')
        return read_sign(text, token, err);
    token->kind = CUD_TOKEN_NAME;
    while (in_name(text[at + token->n]))
        token->n++;
    return CUD_OK;
}
