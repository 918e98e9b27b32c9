/* The doctor's pure parts: findings, the table of what several ranks found, clocks, code for a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "doctor_own.h"
#include "tests/tap.h"

enum { RANKS = 64 };

static struct cud_finding found[RANKS];
static char host[RANKS][64];

/* Ranks from .. to of host n1, n2, ... find this. */
static void find(int from, int to, enum cud_verdict verdict, const char *cure, const char *text)
{
    for (int r = from; r <= to; r++) {
        found[r] = (struct cud_finding){0};
        cud_find(&found[r], verdict, cure, "%s", text);
    }
}

static void forget(void)
{
    memset(found, 0, sizeof found);
    for (int r = 0; r < RANKS; r++)
        snprintf(host[r], sizeof host[r], "n%d", 1 + r / 4);
}

static void row(const char *what, int ranks, bool quiet, const char *expected)
{
    char *text = NULL;
    size_t n;
    struct cud_table t = {.to = open_memstream(&text, &n), .quiet = quiet};
    cud_table_row(&t, "x", found, host, ranks);
    fclose(t.to);
    if (!ok(strcmp(text, expected) == 0, "%s", what))
        printf("# got\n%s# wanted\n%s", text, expected);
    free(text);
}

#define AT "                 "              /* where the state stands */
#define IN "                          "     /* and the text */

static void rows(void)
{
    forget();
    row("nobody says anything: no row", 8, false, "");
    find(0, 7, CUD_FINE, NULL, "good");
    row("all say the same", 8, false, "x                ok       good\n");
    row("what is fine is not for the quiet", 8, true, "");
    forget();
    find(0, 0, CUD_WARNING, "do this", "so so");
    row("rank 0 speaks for all", 8, false, "x                warning  so so\n" IN "cure: do this\n");
    forget();
    find(5, 5, CUD_PROBLEM, "do this", "bad");
    row("one rank that is not rank 0 is named", 8, false, "x                problem  rank 5 (n2): bad\n" IN "cure: do this\n");
    find(0, 4, CUD_FINE, NULL, "good");
    row("the worst is first, and who is named", 8, false,
        "x                problem  rank 5 (n2): bad\n" IN "cure: do this\n" AT "ok       ranks 0-4 (n1, n2): good\n");
    row("the quiet hear of the worst alone", 8, true, "x                problem  rank 5 (n2): bad\n" IN "cure: do this\n");
    find(6, 7, CUD_PROBLEM, "do this", "bad");
    find(1, 1, CUD_PROBLEM, "do this", "bad");
    row("ranges of ranks", 8, true, "x                problem  ranks 1, 5-7 (n1, n2): bad\n" IN "cure: do this\n");
    find(1, 1, CUD_PROBLEM, "do that", "bad");
    row("another cure is another line", 8, true,
        "x                problem  rank 1 (n1): bad\n" IN "cure: do that\n"
        AT "problem  ranks 5-7 (n2): bad\n" IN "cure: do this\n");
}

static void long_rows(void)
{
    char text[32];
    forget();
    for (int r = 0; r < 9; r++) {
        snprintf(text, sizeof text, "it is %d", r);
        find(r, r, CUD_FINE, NULL, text);
    }
    row("of many lines some are left out", 9, false,
        "x                ok       rank 0 (n1): it is 0\n"
        AT "ok       rank 1 (n1): it is 1\n" AT "ok       rank 2 (n1): it is 2\n"
        AT "ok       rank 3 (n1): it is 3\n" AT "ok       rank 4 (n2): it is 4\n" AT "ok       rank 5 (n2): it is 5\n"
        IN "and 3 more of its kind\n");
    forget();
    find(0, RANKS - 1, CUD_FINE, NULL, "good");
    for (int r = 0; r < RANKS; r += 2)
        find(r, r, CUD_FINE, NULL, "odd");
    char *out = NULL;
    size_t n;
    struct cud_table t = {.to = open_memstream(&out, &n)};
    cud_table_row(&t, "x", found, host, RANKS);
    fclose(t.to);
    ok(strstr(out, "...") && strstr(out, ": odd") && strstr(out, ": good"), "long lists of ranks are cut, nothing else");
    free(out);
    forget();
    find(0, 0, CUD_FINE, NULL, "words and words and words and words and words and words and words and words and words");
    row("long lines are wrapped", 1, false,
        "x                ok       words and words and words and words and words and\n"
        IN "words and words and words and words\n");
}

static void findings(void)
{
    struct cud_finding f = {0};
    struct cud_err err = {0};
    cud_find(&f, CUD_FINE, NULL, "good");
    cud_find(&f, CUD_WARNING, "a cure", "%d", 1);
    cud_find(&f, CUD_WARNING, "another", "2");
    cud_find(&f, CUD_FINE, NULL, "good");
    ok(f.verdict == CUD_WARNING && f.code == CUD_OK && strcmp(f.text, "1") == 0 && strcmp(f.cure, "a cure") == 0,
       "the worst stays");
    cud_find(&f, CUD_PROBLEM, "x", "a\nb");
    ok(f.code == CUD_EFAILED && strcmp(f.text, "a?b") == 0, "a problem has a code, and one line");
    f = (struct cud_finding){0};
    (void)FAIL(&err, CUD_ENOGPU, "no GPU; really; take a CPU");
    cud_find_error(&f, &err);
    ok(f.code == CUD_ENOGPU && strcmp(f.text, "no GPU; really") == 0 && strcmp(f.cure, "take a CPU") == 0,
       "an error's cure stands at its end");
}

static void codes(void)
{
    struct cud_table t = {.to = fopen("/dev/null", "w")};
    forget();
    find(0, 2, CUD_PROBLEM, "", "bad");
    find(3, 3, CUD_WARNING, "", "so so");
    cud_table_row(&t, "x", found, host, 4);
    ok(t.code == CUD_EFAILED && t.problems == 1 && t.warnings == 0, "a row is as bad as its worst");
    found[2].code = CUD_ENOGPU;
    cud_table_row(&t, "y", found, host, 4);
    ok(t.code == CUD_ENOGPU && t.problems == 2, "missing GPUs have the last word");
    fclose(t.to);
}

static void code_for(const char *built, const char *kind, enum cud_code expected)
{
    ok(cud_code_for(built, kind) == expected, "%s for %s", built, kind);
}

int main(void)
{
    rows();
    long_rows();
    findings();
    codes();
    ok(cud_clock_differs(100, 101, 100.5) == 0 && cud_clock_differs(100, 101, 103) == 2 && cud_clock_differs(100, 101, 97) == 3,
       "clocks: what is sure of their difference");
    code_for("sm_75 sm_80 sm_90 compute_90", "sm_90", CUD_CODE_NATIVE);
    code_for("sm_75 sm_80 sm_90 compute_90", "sm_86", CUD_CODE_NATIVE);
    code_for("sm_75 sm_80 sm_90 compute_90", "sm_100", CUD_CODE_PTX);
    code_for("sm_75 sm_80 sm_90 compute_90", "sm_61", CUD_CODE_NONE);
    code_for("sm_86 compute_86", "sm_80", CUD_CODE_NONE);
    code_for("sm_100 sm_90a", "sm_90", CUD_CODE_NATIVE);
    code_for("sm_90a compute_90a", "sm_100", CUD_CODE_NONE);
    code_for("sm_100f", "sm_103", CUD_CODE_NATIVE);
    code_for("", "sm_90", CUD_CODE_NONE);
    return done_testing();
}
