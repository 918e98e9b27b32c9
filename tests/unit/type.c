/* Types and shapes as people write them. */
#include <string.h>
#include "cudist/type.h"
#include "tap.h"

static void test_shapes(void)
{
    static const struct { const char *text, *want; } t[] = {
        {"5", "(5,)"}, {"0", "(0,)"}, {"1000x16", "(1000, 16)"}, {"1000,16", "(1000, 16)"}, {"2x3,4", "(2, 3, 4)"},
        {"()", "()"}, {"(5,)", "(5,)"}, {"(20, 3)", "(20, 3)"}, {"(20,3,1)", "(20, 3, 1)"},
        {"0x5", "(0, 5)"}, {"007x1", "(7, 1)"}, {"1152921504606846975", "(1152921504606846975,)"},
        {"1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
         "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_shape s = {0};
        struct cud_err err = {0};
        char text[CUD_SHAPE_TEXT];
        ok(cud_shape_parse(t[i].text, &s, &err) == CUD_OK && strcmp(cud_shape_text(&s, text), t[i].want) == 0, "shape '%s': %s",
           t[i].text, err.text);
    }
}

static void test_refused(void)
{
    static const struct { const char *text, *says; } t[] = {
        {"", "'' is not a whole number"}, {"5x", "'' is not a whole number"}, {"x5", "'' is not a whole number"},
        {"5,", "'' is not a whole number"}, {"5xx6", "'' is not a whole number"}, {"(5,", "'(5' is not a whole number"},
        {"(5,,)", "'' is not a whole number"}, {"(5 6)", "'5 6' is not a whole number"},
        {"(5x6)", "'5x6' is not a whole number"},
        {"-1", "'-1' is not a whole number"}, {"+5", "'+5' is not"}, {" 5", "' 5' is not"}, {"5 ", "'5 ' is not"},
        {"5 x 6", "'5 ' is not"}, {"5X6", "'5X6' is not"}, {"0x10x", "'' is not"}, {"1e3", "'1e3' is not"},
        {"5K", "'5K' is not"},
        {"\xd9\xa1", "is not a whole number"}, {"99999999999999999999", "is too large: at most 9223372036854775807"},
        {"4294967296x4294967296", "2^63 bytes or more"}, {"() ", "'() ' is not"},
        {"1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "more than 32 dimensions"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct cud_shape s = {.ndim = 9};
        struct cud_err err = {0};
        const enum cud_status status = cud_shape_parse(t[i].text, &s, &err);
        ok(status == CUD_EUSAGE && s.ndim == 9 && strstr(err.text, t[i].says), "'%s' is refused: %s", t[i].text, err.text);
    }
}

int main(void)
{
    enum cud_type type = CUD_TYPES;
    ok(cud_type_find("bf16", &type) && type == CUD_BF16, "a type by its name");
    ok(!cud_type_find("F32", &type) && !cud_type_find("", &type) && type == CUD_BF16, "no other name");
    test_shapes();
    test_refused();
    return done_testing();
}
