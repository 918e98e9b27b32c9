#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "doctor_own.h"
#include "text.h"

#define STATE_AT 17
#define TEXT_AT 26
#define LINES 6                            /* of one row */

/* ---- findings */

static void set(struct cud_finding *f, enum cud_verdict verdict, const char *cure, const char *format, va_list args)
{
    if (f->text[0] && f->verdict >= (int)verdict)
        return;
    f->verdict = (int)verdict;
    f->code = verdict == CUD_PROBLEM ? CUD_EFAILED : CUD_OK;
    cud_text_line(f->text, sizeof f->text, format, args);
    snprintf(f->cure, sizeof f->cure, "%s", verdict == CUD_FINE ? "" : cure);
    cud_text_clean(f->cure);
}

void cud_find(struct cud_finding *f, enum cud_verdict verdict, const char *cure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(f, verdict, cure, format, args);
    va_end(args);
}

void cud_fine(struct cud_finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(f, CUD_FINE, "", format, args);
    va_end(args);
}

void cud_find_error(struct cud_finding *f, const struct cud_err *err)
{
    const char *cure = NULL;
    for (const char *c = err->text; (c = strstr(c, "; ")); c += 2)
        cure = c + 2;
    const int letters = cure ? (int)(cure - 2 - err->text) : (int)strlen(err->text);
    cud_find(f, CUD_PROBLEM, cure ? cure : "correct what the line says", "%.*s", letters, err->text);
    if (err->status == CUD_ENOGPU)
        f->code = CUD_ENOGPU;
}

/* ---- rows */

static bool same(const struct cud_finding *a, const struct cud_finding *b)
{
    return a->verdict == b->verdict && a->code == b->code && strcmp(a->text, b->text) == 0 && strcmp(a->cure, b->cure) == 0;
}

/* Is this the first rank that says so? */
static bool is_new(const struct cud_finding *found, int rank)
{
    for (int r = 0; r < rank; r++)
        if (same(&found[r], &found[rank]))
            return false;
    return found[rank].text[0] != '\0';
}

/* Then nobody needs to be named: rank 0 speaks for itself, or for all. */
static bool all_alike(const struct cud_finding *found, int ranks)
{
    int different = 0;
    for (int r = 0; r < ranks; r++)
        different += is_new(found, r);
    return different <= 1 && found[0].text[0];
}

static size_t add(char *text, size_t room, size_t at, const char *more)
{
    if (at < room)
        at += (size_t)snprintf(text + at, room - at, "%s", more);
    return at;
}

/* "ranks 0-3, 6 (n1, n2): " of those that say the same. */
static void who_text(const struct cud_finding *found, char (*host)[64], int ranks, int like, char text[200])
{
    char list[80] = "", hosts[80] = "", piece[80];
    size_t at = 0, at_host = 0;
    int many = 0;
    for (int r = like, last = -1; r < ranks; r++) {
        if (!same(&found[r], &found[like]))
            continue;
        const int from = r;
        while (r + 1 < ranks && same(&found[r + 1], &found[like]))
            r++;
        snprintf(piece, sizeof piece, r > from ? "%s%d-%d" : "%s%d", many ? ", " : "", from, r);
        at = add(list, sizeof list, at, piece);
        many += r - from + 1;
        for (int h = from; h <= r; h++)
            if (last < 0 || strcmp(host[h], host[last]) != 0) {
                snprintf(piece, sizeof piece, "%s%s", last < 0 ? "" : ", ", host[h]);
                at_host = add(hosts, sizeof hosts, at_host, piece);
                last = h;
            }
    }
    snprintf(text, 200, "rank%s %s%s (%s%s): ", many > 1 ? "s" : "", list, at >= sizeof list ? "..." : "", hosts,
             at_host >= sizeof hosts ? "..." : "");
}

static void print_line(struct cud_table *t, const char *name, const struct cud_finding *f, const char *who)
{
    static const char *const state[] = {"ok", "warning", "problem"};
    static const char cure[] = "cure: ";
    char text[sizeof f->text + 200];
    snprintf(text, sizeof text, "%s%s", who, f->text);
    fprintf(t->to, "%-*s%-*s", STATE_AT, name, TEXT_AT - STATE_AT, state[f->verdict]);
    cud_text_wrap(text, TEXT_AT, TEXT_AT, t->to);
    if (!f->cure[0])
        return;
    fprintf(t->to, "%*s%s", TEXT_AT, "", cure);
    cud_text_wrap(f->cure, TEXT_AT + (int)strlen(cure), TEXT_AT + (int)strlen(cure), t->to);
}

void cud_table_start(struct cud_table *t)
{
    if (!t->quiet)
        fprintf(t->to, "%-*s%-*s%s\n", STATE_AT, "check", TEXT_AT - STATE_AT, "state", "what was found");
}

void cud_table_row(struct cud_table *t, const char *name, const struct cud_finding *found, char (*host)[64], int ranks)
{
    const bool alike = all_alike(found, ranks);
    int lines = 0, left_out = 0, worst = CUD_FINE;
    for (int verdict = CUD_PROBLEM; verdict >= (t->quiet ? CUD_WARNING : CUD_FINE); verdict--)
        for (int r = 0; r < ranks; r++) {
            char who[200] = "";
            if (found[r].verdict != verdict || !is_new(found, r))
                continue;
            worst = verdict > worst ? verdict : worst;
            t->code = found[r].code > t->code ? found[r].code : t->code;
            if (!alike)
                who_text(found, host, ranks, r, who);
            if (lines < LINES)
                print_line(t, lines++ ? "" : name, &found[r], who);
            else
                left_out++;
        }
    if (left_out)
        fprintf(t->to, "%*sand %d more of its kind\n", TEXT_AT, "", left_out);
    t->warnings += worst == CUD_WARNING;
    t->problems += worst == CUD_PROBLEM;
    fflush(t->to);
}

static void print_count(FILE *to, int n, const char *what)
{
    fprintf(to, "%d %s%s", n, what, n == 1 ? "" : "s");
}

void cud_table_end(struct cud_table *t)
{
    if (t->problems + t->warnings == 0) {
        fputs(t->quiet ? "" : "all is well\n", t->to);
        return;
    }
    print_count(t->to, t->problems, "problem");
    fputs(", ", t->to);
    print_count(t->to, t->warnings, "warning");
    fputc('\n', t->to);
}
