/* Which name was meant. */
#include <string.h>
#include "../tap.h"
#include "registry.h"

static const char *const names[] = {"scale", "affine", "relu", "exp", "softmax", "sum", "share-gpus", "show-config", "cpu",
                                    "cuda", "window"};

static const struct { const char *typed, *want; } cases[] = {
    {"scale", "scale"}, {"sclae", "scale"}, {"scal", "scale"}, {"scalee", "scale"}, {"SCALE", "scale"}, {"xscale", "scale"},
    {"share_gpus", "share-gpus"}, {"sharegpus", "share-gpus"}, {"Share-GPU", "share-gpus"}, {"show-conf", "show-config"},
    {"softm", "softmax"}, {"sof", "softmax"}, {"so", NULL}, {"windw", "window"}, {"wnidow", "window"}, {"widnwo", "window"},
    {"gpu", NULL}, {"cude", "cuda"}, {"x", NULL}, {"", NULL}, {"zzzzzz", NULL}, {"\xff\xfe\xfd", NULL},
    {"a-word-of-more-than-sixty-three-letters-is-never-compared-with-any", NULL},
};

int main(void)
{
    const size_t n = sizeof names / sizeof *names;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = cud_registry_nearest(cases[i].typed, names, n);
        ok(got == cases[i].want || (got && cases[i].want && strcmp(got, cases[i].want) == 0), "'%s': %s, wanted %s",
           cases[i].typed[0] & 0x80 ? "bytes" : cases[i].typed, got ? got : "none", cases[i].want ? cases[i].want : "none");
    }
    ok(cud_registry_nearest("scale", names, 0) == NULL, "no names");
    char longest[64] = "";
    memset(longest, 'a', 63);
    const char *one[] = {longest};
    ok(cud_registry_nearest(longest, one, 1) == longest, "63 letters");
    return done_testing();
}
