#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "integer.h"
#include "number.h"
#include "result.h"
#include "text.h"

/* The result as a person reads it: what it is called, then one fact a line, names on the left. */

static void print_name(FILE *to, const char *name)
{
    fprintf(to, "  %-9s ", name);
}

/* Ten digits are more than one reads; the JSON has them all. */
static void print_moment(FILE *to, const char *name, bool has, double value)
{
    char text[32];
    print_name(to, name);
    if (!has)
        fputs("-\n", to);
    else if (isfinite(value))
        fprintf(to, "%.10g\n", value);
    else
        fprintf(to, "%s\n", cud_number_text(value, false, text));
}

/* "row 12" or "row 12, column 3". */
static void print_place(FILE *to, uint64_t at, uint64_t cols)
{
    fprintf(to, "row %" PRIu64, at / cols);
    if (cols > 1)
        fprintf(to, ", column %" PRIu64, at % cols);
}

static void print_special(FILE *to, const char *name, uint64_t n, uint64_t first, uint64_t cols)
{
    if (!n)
        return;
    print_name(to, name);
    fprintf(to, "%" PRIu64 ", first at ", n);
    print_place(to, first, cols);
    fputc('\n', to);
}

static const char *value_text(union cud_word value, enum cud_type type, char text[CUD_INTEGER_TEXT])
{
    if (cud_type_is_float(type))
        return cud_number_text(value.f, type != CUD_F64, text);
    return cud_integer_text(value, cud_stats_kind(type), text);
}

static void print_extremes(FILE *to, const struct cud_summary *s, const struct cud_array *out)
{
    const uint64_t at[] = {s->argmin, s->argmax};
    char text[2][CUD_INTEGER_TEXT];
    value_text(s->min, out->type, text[0]);
    value_text(s->max, out->type, text[1]);
    const size_t width[] = {strlen(text[0]), strlen(text[1])};
    for (int i = 0; i < 2; i++) {
        print_name(to, i ? "max" : "min");
        if (at[i] == CUD_NONE) {
            fputs("-\n", to);
            continue;
        }
        fprintf(to, "%-*s  ", (int)(width[0] > width[1] ? width[0] : width[1]), text[i]);
        print_place(to, at[i], cud_shape_cols(&out->shape));
        fputc('\n', to);
    }
}

static void print_sum(FILE *to, const struct cud_run_facts *facts)
{
    char text[CUD_INTEGER_TEXT];
    if (cud_type_is_float(facts->program->out.type)) {
        print_moment(to, "sum", true, facts->summary->sum.f);
        return;
    }
    print_name(to, "sum");
    fprintf(to, "%s\n", cud_integer_sum_text(facts->summary, text));
}

static void print_lost(FILE *to, const struct cud_lost *lost, enum cud_type type)
{
    if (!lost->rounded && !lost->saturated && !lost->nan_to_zero)
        return;
    const struct {
        uint64_t n;
        const char *what;
    } part[] = {{lost->rounded, "rounded"}, {lost->saturated, cud_type_is_float(type) ? "became infinite" : "out of range"}, {lost->nan_to_zero, "NaN made 0"}};
    const char *comma = "";
    print_name(to, "converted");
    fprintf(to, "to %s: ", cud_type_name(type));
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (!part[i].n)
            continue;
        fprintf(to, "%s%" PRIu64 " %s", comma, part[i].n, part[i].what);
        comma = ", ";
    }
    fputc('\n', to);
}

static void print_time(FILE *to, const struct cud_run_facts *facts)
{
    const uint64_t most = facts->bytes_read > facts->bytes_written ? facts->bytes_read : facts->bytes_written;
    char read[32], written[32];
    print_name(to, "time");
    fprintf(to, "%.3f s (start %.3f, stream %.3f, commit %.3f)\n", facts->start + facts->stream + facts->commit, facts->start,
            facts->stream, facts->commit);
    print_name(to, "data");
    fprintf(to, "%s read, %s written", cud_number_bytes(facts->bytes_read, read),
            cud_number_bytes(facts->bytes_written, written));
    if (facts->stream > 0 && most)
        fprintf(to, "; %.3g GiB/s (slowest: %s)", (double)most / 0x1p30 / facts->stream, facts->bottleneck);
    fputc('\n', to);
}

void cud_result_print(const struct cud_run_facts *facts, FILE *to)
{
    const struct cud_summary *const s = facts->summary;
    const struct cud_array *const out = &facts->program->out;
    const uint64_t cols = cud_shape_cols(&out->shape);
    char shape[CUD_SHAPE_TEXT];
    const bool none = !strcmp(facts->output, "none"), piped = !strcmp(facts->output, "-");
    const char *const name = none ? "not written" : piped ? "stdout" : facts->output;
    cud_text_put(name, to);
    fprintf(to, ": %s %s\n", cud_shape_text(&out->shape, shape), cud_type_name(out->type));
    print_name(to, "digest");
    fprintf(to, "xxh3-128:%016" PRIx64 "%016" PRIx64 "\n", s->digest[0], s->digest[1]);
    print_name(to, "count");
    fprintf(to, "%" PRIu64 "\n", s->count);
    print_special(to, "NaN", s->nan, s->first_nan, cols);
    print_special(to, "inf", s->pinf, s->first_pinf, cols);
    print_special(to, "-inf", s->ninf, s->first_ninf, cols);
    print_extremes(to, s, out);
    print_moment(to, "mean", s->has_mean, s->mean);
    print_moment(to, "std", s->has_mean, s->std);
    print_moment(to, "variance", s->has_mean, s->variance);
    print_moment(to, "rms", s->has_mean, s->rms);
    print_sum(to, facts);
    print_lost(to, &s->lost, out->type);
    print_time(to, facts);
}
