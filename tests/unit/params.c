/* NAME[:KEY=VALUE,...] taken apart. */
#include <string.h>
#include "params.h"
#include "tap.h"

static void test_good(void)
{
    static const struct { const char *text, *name, *params; } good[] = {
        {"relu", "relu", ""},
        {"scale:factor=2", "scale", "factor=2;"},
        {"affine:scale=2,shift=-1e3", "affine", "scale=2;shift=-1e3;"},
        {"dense:weights='a,b:c=d.npy',bias=x:y.npy", "dense", "weights=a,b:c=d.npy;bias=x:y.npy;"},
        {"f:o=o.cu:entry=main", "f:o=o.cu", "entry=main;"},
        {"a:b.cu", "a:b.cu", ""},
        {"it's.cu:n=1", "it's.cu", "n=1;"},
        {"x:k='it''s'", "x", "k=it's;"},
        {"x:k=", "x", "k=;"},
        {"x:k=,l=''", "x", "k=;l=;"},
        {"x:k= 1 ", "x", "k= 1 ;"},
        {"x:block=n/4,grid='rows,2'", "x", "block=n/4;grid=rows,2;"},
        {"x:", "x:", ""}, {"x:k", "x:k", ""}, {"", "", ""}, {"x :k=1", "x ", "k=1;"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct cud_params p = {0};
        struct cud_err err = {0};
        char params[200] = "";
        const int fine = cud_params_parse(good[i].text, &p, &err) == CUD_OK;
        for (size_t k = 0; fine && k < p.n; k++)
            snprintf(params + strlen(params), sizeof params - strlen(params), "%s=%s;", p.param[k].key, p.param[k].value);
        ok(fine && strcmp(p.name, good[i].name) == 0 && strcmp(params, good[i].params) == 0, "%s: '%s' and '%s'", good[i].text,
           fine ? p.name : err.text, params);
        cud_params_free(&p);
    }
}

static void test_bad(void)
{
    static const struct { const char *text, *says; } bad[] = {
        {"x:k='open", "the quote of k= is not closed"}, {"x:a=1,a=2", "a= is given twice"}, {"x:a=1,", "ends in a comma"},
        {"x:a=1,,b=2", "',b=2' should read KEY=VALUE"}, {"x:a=1,b", "'b' should read KEY=VALUE"},
        {"x:a=1, b=2", "' b=2' should read KEY=VALUE"}, {"x:a=1,5", "'5' should read KEY=VALUE"},
        {"x:a=1,b =2", "'b =2' should read KEY=VALUE"}, {"x:a=1,=2", "'=2' should read KEY=VALUE"},
        {"x:a=,b=,c=,d=,e=,f=,g=,h=,i=,j=,k=,l=,m=,n=,o=,p=,q=", "has more than 16 parameters"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cud_params p = {0};
        struct cud_err err = {0};
        ok(cud_params_parse(bad[i].text, &p, &err) == CUD_EUSAGE && strcmp(err.text, bad[i].says) == 0, "%s is refused: %s",
           bad[i].text, err.text);
    }
}

int main(void)
{
    struct cud_params p = {0};
    struct cud_err err = {0};
    test_good();
    test_bad();
    const bool fine = cud_params_parse("x:a=1,b=2", &p, &err) == CUD_OK;
    ok(fine && strcmp(cud_params_find(&p, "b"), "2") == 0 && !cud_params_find(&p, "c"), "a value by its key");
    cud_params_free(&p);
    return done_testing();
}
