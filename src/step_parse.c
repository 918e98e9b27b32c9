#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "step_parse.h"

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
            for (const char *d = c + 1; *d; d++) {
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

static enum cud_status parse_tail(const char *text, char *at, struct cud_step_text *t, struct cud_err *err)
{
    while (at) {
        if (!reads_as_key(at))
            return FAIL(err, CUD_EUSAGE, "step '%s': '%s' should read KEY=VALUE", text, at);
        if (t->params == sizeof t->param / sizeof *t->param)
            return FAIL(err, CUD_EUSAGE, "step '%s': too many parameters", text);
        char *const key = at;
        at = strchr(at, '=');
        *at++ = 0;
        char *const value = value_of(&at);
        if (!value)
            return FAIL(err, CUD_EUSAGE, "step '%s': the quote of %s= is not closed", text, key);
        for (size_t i = 0; i < t->params; i++)
            if (strcmp(t->param[i].key, key) == 0)
                return FAIL(err, CUD_EUSAGE, "step '%s': %s= is given twice", text, key);
        t->param[t->params].key = key;
        t->param[t->params++].value = value;
    }
    return CUD_OK;
}

enum cud_status cud_step_parse(const char *text, struct cud_step_text *out, struct cud_err *err)
{
    struct cud_step_text t = {.memory = strdup(text)};
    if (!t.memory)
        return FAIL(err, CUD_EFAILED, "no memory for step '%s'", text);
    t.name = t.memory;
    char *const tail = tail_of(t.memory);
    if (tail)
        *tail = 0;
    const enum cud_status status = tail ? parse_tail(text, tail + 1, &t, err) : CUD_OK;
    if (status == CUD_OK)
        *out = t;
    else
        free(t.memory);
    return status;
}

void cud_step_text_free(struct cud_step_text *t) { free(t->memory); }
