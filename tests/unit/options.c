/* The table of options: sound in itself, and whole in --help, the man page and the bash completion. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "options.h"
#include "registry.h"

#define HELP_LINES 120
#define HELP_COLUMNS 79

static void test_rows(void)
{
    const struct cud_option *o, *other;
    for (size_t i = 0; (o = cud_option_at(i)); i++) {
        bool alone = true, good = o->name[0] && o->help[0] && o->places && o->group < CUD_GROUPS &&
        (o->set || o->action != CUD_RUN);
        for (size_t k = 0; k < i; k++) {
            other = cud_option_at(k);
            alone &= strcmp(other->name, o->name) != 0 && (!o->letter || other->letter != o->letter);
        }
        for (const char *c = o->name; *c; c++)
            good &= islower((unsigned char)*c) || (*c == '-' && c > o->name);
        ok(good, "%s: a name, a text, a place and a setter", o->name);
        ok(alone, "%s: its name and letter are its own", o->name);
        ok(i == 0 || o->group >= cud_option_at(i - 1)->group, "%s: groups stay together", o->name);
        ok(strlen(o->name) + sizeof "CUDIST_" <= CUD_OPTION_ENV, "%s: room for its variable", o->name);
        struct cud_err err = {0};
        const struct cud_option *found = NULL;
        if (o->places & CUD_IN_ARGV)
            ok(cud_option_long(o->name, strlen(o->name), &found, &err) == CUD_OK && found == o, "--%s is found", o->name);
        ok(!o->letter || cud_option_lettered(o->letter) == o, "%s: found by its letter", o->name);
    }
    ok(cud_option_lettered('\0') == NULL && cud_option_lettered('Z') == NULL, "no such letter");
}

/* Every beginning of every name finds it, or lists it among the candidates. */
static void test_abbreviations(void)
{
    const struct cud_option *o, *found;
    for (size_t i = 0; (o = cud_option_at(i)); i++) {
        size_t bad = 0, clear = 0;
        for (size_t n = 1; n <= strlen(o->name) && (o->places & CUD_IN_ARGV); n++) {
            struct cud_err err = {0};
            char candidate[80];
            snprintf(candidate, sizeof candidate, "--%s", o->name);
            bool is_clear = cud_option_long(o->name, n, &found, &err) == CUD_OK;
            clear += is_clear;
            bad += !(is_clear ? strncmp(found->name, o->name, n) == 0 : !!strstr(err.text, candidate));
        }
        ok(bad == 0 && (clear > 0 || !(o->places & CUD_IN_ARGV)), "%s: its beginnings", o->name);
    }
}

static void test_environment(void)
{
    char text[CUD_OPTION_ENV];
    ok(strcmp(cud_option_env(cud_option_named("share-gpus", CUD_IN_ENV), text), "CUDIST_SHARE_GPUS") == 0, "%s", text);
    ok(cud_option_named("force", CUD_IN_ENV) == NULL && cud_option_named("force", CUD_IN_FILE) != NULL,
       "force is not for the environment");
    ok(cud_option_named("input", CUD_IN_ARGV) == NULL && cud_option_named("input", CUD_IN_FILE) != NULL,
       "input is for job files");
    ok(cud_option_env_other("CUDIST_ISA") && cud_option_env_other("CUDIST_TEST_X") && !cud_option_env_other("CUDIST_TEST"),
       "other variables");
}

/* ---- texts */

static char *text_of(void (*print)(FILE *to))
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    print(f);
    fclose(f);
    return text;
}

static char *file_text(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    enum { MOST = 1 << 18 };
    char *text = calloc(1, MOST);
    if (f && text)
        text[fread(text, 1, MOST - 1, f)] = '\0';
    ok(f && text && *text, "%s is there", path);
    if (f)
        fclose(f);
    return text;
}

/* Is word in text, with no letter before it (but roff's \fB) nor letter or - after it? */
static bool holds(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]) || (at - text >= 3 && strncmp(at - 3, "\\fB", 3) == 0);
        if (begins && !isalnum((unsigned char)at[n]) && at[n] != '-')
            return true;
    }
    return false;
}

/* How an option is written: "--share-gpus", in roff "\-\-share\-gpus". */
static void spelt(const struct cud_option *o, bool roff, char word[128])
{
    char *to = word;
    const char *dashes = o->places & CUD_IN_ARGV ? "--" : "";
    char plain[100];
    snprintf(plain, sizeof plain, "%s%s", dashes, o->name);
    for (const char *c = plain; *c; c++) {
        if (roff && *c == '-')
            *to++ = '\\';
        *to++ = *c;
    }
    *to = '\0';
}

static void test_in_text(const char *what, const char *text, bool roff, bool all)
{
    const struct cud_option *o;
    const struct cud_kernel *k;
    char word[128];
    for (size_t i = 0; (o = cud_option_at(i)); i++) {
        spelt(o, roff, word);
        if (all || o->places & CUD_IN_ARGV)
            ok(holds(text, word), "%s is in %s", o->name, what);
        snprintf(word, sizeof word, roff ? "\\-%c" : "-%c", o->letter);
        if (o->letter)
            ok(holds(text, word), "-%c is in %s", o->letter, what);
    }
    for (size_t i = 0; all && (k = cud_registry_kernel_at(i)); i++)
        ok(k->kind == CUD_INTERNAL || holds(text, k->name), "%s is in %s", k->name, what);
}

static void test_help(void)
{
    char *text = text_of(cud_job_help), *rest = text, *line;
    const struct cud_format *f;
    test_in_text("--help", text, false, true);
    for (size_t i = 0; (f = cud_registry_format_at(i)); i++) {
        char start[30];
        snprintf(start, sizeof start, "%s", f->brief);
        ok(strstr(text, start) != NULL, "format %s is in --help", f->name);
    }
    size_t lines = 0, longest = 0;
    while ((line = strsep(&rest, "\n"))) {
        lines++;
        longest = strlen(line) > longest ? strlen(line) : longest;
    }
    ok(lines <= HELP_LINES, "--help has %zu lines, at most %d", lines, HELP_LINES);
    ok(longest <= HELP_COLUMNS, "--help has lines of up to %zu columns, at most %d", longest, HELP_COLUMNS);
    free(text);
}

static void test_kernels(void)
{
    char *text = text_of(cud_job_list_kernels);
    const struct cud_kernel *k;
    for (size_t i = 0; (k = cud_registry_kernel_at(i)); i++) {
        char line[80];
        snprintf(line, sizeof line, "%s%s ", i ? "\n" : "", k->name);
        ok((strncmp(text, k->name, strlen(k->name)) == 0 || strstr(text, line)) == (k->kind != CUD_INTERNAL),
           "%s in --list-kernels", k->name);
        for (const struct cud_param *p = k->param; p && p->name && k->kind != CUD_INTERNAL; p++)
            ok(holds(text, p->name), "%s: %s is in --list-kernels", k->name, p->name);
    }
    free(text);
}

/* What options offer to choose from. */
static void test_choices(const char *completion)
{
    const struct cud_option *o;
    char types[CUD_TYPES * 8] = "";
    for (size_t i = 0; (o = cud_option_at(i)); i++)
        if (o->choices)
            ok(strstr(completion, o->choices) != NULL, "%s: %s in the bash completion", o->name, o->choices);
    for (int i = 0; i < CUD_TYPES; i++)
        strcat(strcat(types, i ? " " : ""), cud_type_name((enum cud_type)i));
    ok(strstr(completion, types) != NULL, "types in the bash completion: %s", types);
    ok(strstr(cud_option_named("dtype", CUD_IN_ARGV)->help, types) != NULL, "types in the help of --dtype");
}

static void test_documents(void)
{
    const char *source = getenv("srcdir");
    char *completion = file_text(source ? source : ".", "completions/cudist");
    char *man = file_text(".", "man/cudist.1");
    test_in_text("the bash completion", completion, false, false);
    test_choices(completion);
    test_in_text("the man page", man, true, true);
    free(completion);
    free(man);
}

int main(void)
{
    test_rows();
    test_abbreviations();
    test_environment();
    test_help();
    test_kernels();
    test_documents();
    return done_testing();
}
