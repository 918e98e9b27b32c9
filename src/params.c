#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "params.h"

static bool reads_as_key(const char *s)
{
    const char *c = s;
    while (isalnum((unsigned char)*c) || *c == '_' || *c == '-')
        c++;
    return c > s && *c == '=';
}

/* The ':' in front of the tail, or NULL.  Quotes count only in a tail, so a name may hold one. */
static char *tail_of(char *text)
{
    for (char *c = text; (c = strchr(c, ':')); c++)
        if (reads_as_key(c + 1)) {
            bool quoted = false, later = false;
            for (const char *d = c + 1; *d && !later; d++) {
                quoted ^= *d == '\'';
                later |= *d == ':' && !quoted && reads_as_key(d + 1);
            }
            if (!later)
                return c;
        }
    return NULL;
}

/* Cuts one value off at *at: unquotes in place, leaves *at behind the comma or NULL at the end.  NULL: a quote is open. */
static char *value_of(char **at)
{
    char *const value = *at, *to = value, *from = value;
    bool quoted = false;
    for (; *from && (quoted || *from != ','); from++) {
        if (*from != '\'') {
            *to++ = *from;
        } else if (quoted && from[1] == '\'') {
            *to++ = *from++;
        } else {
            quoted = !quoted;
        }
    }
    *at = *from ? from + 1 : NULL;
    *to = 0;
    return quoted ? NULL : value;
}

static enum cud_status parse_tail(char *at, struct cud_params *p, struct cud_err *err)
{
    while (at) {
        if (!*at)
            return FAIL(err, CUD_EUSAGE, "ends in a comma");
        if (!reads_as_key(at))
            return FAIL(err, CUD_EUSAGE, "'%s' should read KEY=VALUE", at);
        if (p->n == sizeof p->param / sizeof *p->param)
            return FAIL(err, CUD_EUSAGE, "has more than %zu parameters", p->n);
        char *const key = at;
        at = strchr(at, '=');
        *at++ = 0;
        char *const value = value_of(&at);
        if (!value)
            return FAIL(err, CUD_EUSAGE, "the quote of %s= is not closed", key);
        if (cud_params_find(p, key))
            return FAIL(err, CUD_EUSAGE, "%s= is given twice", key);
        p->param[p->n].key = key;
        p->param[p->n++].value = value;
    }
    return CUD_OK;
}

enum cud_status cud_params_parse(const char *text, struct cud_params *out, struct cud_err *err)
{
    struct cud_params p = {.memory = strdup(text)};
    if (!p.memory)
        return FAIL(err, CUD_EFAILED, "no memory for its parameters");
    p.name = p.memory;
    char *const tail = tail_of(p.memory);
    if (tail)
        *tail = 0;
    const enum cud_status status = tail ? parse_tail(tail + 1, &p, err) : CUD_OK;
    if (status == CUD_OK)
        *out = p;
    else
        free(p.memory);
    return status;
}

const char *cud_params_find(const struct cud_params *p, const char *key)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->param[i].key, key) == 0)
            return p->param[i].value;
    return NULL;
}

void cud_params_free(struct cud_params *p) { free(p->memory); }
