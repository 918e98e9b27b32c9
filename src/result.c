#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "integer.h"
#include "json.h"
#include "result.h"

static void put_array(struct cud_json *j, const char *key, const struct cud_array *array, const uint64_t *digest)
{
    cud_json_open(j, key, '{', true);
    cud_json_shape(j, "shape", &array->shape);
    cud_json_string(j, "dtype", cud_type_name(array->type));
    if (digest) {
        char text[64];
        snprintf(text, sizeof text, "xxh3-128:%016" PRIx64 "%016" PRIx64, digest[0], digest[1]);
        cud_json_string(j, "digest", text);
    }
    cud_json_close(j, '}');
}

static void put_steps(struct cud_json *j, const struct cud_program *program)
{
    cud_json_open(j, "steps", '[', false);
    for (size_t i = 0; i < program->steps; i++)
        cud_json_string(j, NULL, program->step[i].text);
    cud_json_close(j, ']');
}

/* min or max, and where it is. */
static void put_extreme(struct cud_json *j, const struct cud_run_facts *facts, bool max)
{
    const struct cud_summary *const s = facts->summary;
    const uint64_t at = max ? s->argmax : s->argmin, cols = cud_shape_cols(&facts->program->out.shape);
    const char *const key = max ? "max" : "min", *const where = max ? "argmax" : "argmin";
    char text[CUD_INTEGER_TEXT];
    if (at == CUD_NONE) {
        cud_json_null(j, key);
        cud_json_null(j, where);
        return;
    }
    if (cud_type_is_float(facts->program->out.type))
        cud_json_number(j, key, max ? s->max.f : s->min.f);
    else
        cud_json_integer(j, key, cud_integer_text(max ? s->max : s->min, s->kind, text));
    cud_json_open(j, where, '[', true);
    cud_json_count(j, NULL, at / cols);
    cud_json_count(j, NULL, at % cols);
    cud_json_close(j, ']');
}

static void put_moment(struct cud_json *j, const char *key, bool has, double value)
{
    if (has)
        cud_json_number(j, key, value);
    else
        cud_json_null(j, key);
}

static void put_statistics(struct cud_json *j, const struct cud_run_facts *facts)
{
    const struct cud_summary *const s = facts->summary;
    char text[CUD_INTEGER_TEXT];
    cud_json_open(j, "statistics", '{', false);
    cud_json_count(j, "count", s->count);
    cud_json_count(j, "nan", s->nan);
    cud_json_count(j, "pos_inf", s->pinf);
    cud_json_count(j, "neg_inf", s->ninf);
    if (s->nan)
        cud_json_count(j, "first_nan_row", s->first_nan / cud_shape_cols(&facts->program->out.shape));
    else
        cud_json_null(j, "first_nan_row");
    put_extreme(j, facts, false);
    put_extreme(j, facts, true);
    if (cud_type_is_float(facts->program->out.type))
        cud_json_number(j, "sum", s->sum.f);
    else
        cud_json_integer(j, "sum", cud_integer_sum_text(s, text));
    put_moment(j, "mean", s->has_mean, s->mean);
    put_moment(j, "variance", s->has_mean, s->variance);
    put_moment(j, "variance_sample", s->has_sample, s->variance_sample);
    put_moment(j, "std", s->has_mean, s->std);
    put_moment(j, "rms", s->has_mean, s->rms);
    cud_json_null(j, "histogram");
    cud_json_null(j, "quantiles");
    cud_json_null(j, "columns");
    cud_json_close(j, '}');
}

static void put_converted(struct cud_json *j, const struct cud_lost *lost)
{
    cud_json_open(j, "converted", '{', true);
    cud_json_count(j, "rounded", lost->rounded);
    cud_json_count(j, "saturated", lost->saturated);
    cud_json_count(j, "nan_to_zero", lost->nan_to_zero);
    cud_json_close(j, '}');
}

/* What depends on the data and the program only: the same bytes for any ranks, windows and machines. */
static void put_result(struct cud_json *j, const struct cud_run_facts *facts)
{
    cud_json_open(j, "result", '{', false);
    put_array(j, "input", &facts->program->in, NULL);
    put_steps(j, facts->program);
    put_array(j, "output", &facts->program->out, facts->summary->digest);
    put_statistics(j, facts);
    put_converted(j, &facts->summary->lost);
    cud_json_close(j, '}');
}

/* Each host once, in the order of ranks.  Ranks of one host are mostly neighbours, so the last host is looked at first. */
static void put_hosts(struct cud_json *j, const struct cud_binding *binding)
{
    cud_json_open(j, "hosts", '[', true);
    for (int i = 0; i < binding->ranks; i++) {
        int k = i - 1;
        while (k >= 0 && strcmp(binding->all[k].host, binding->all[i].host))
            k--;
        if (k < 0)
            cud_json_string(j, NULL, binding->all[i].host);
    }
    cud_json_close(j, ']');
}

static void put_devices(struct cud_json *j, const struct cud_binding *binding)
{
    cud_json_open(j, "devices", '[', false);
    for (int i = 0; i < binding->ranks; i++) {
        cud_json_open(j, NULL, '{', true);
        cud_json_count(j, "rank", (uint64_t)binding->all[i].rank);
        cud_json_string(j, "name", binding->all[i].device.name);
        cud_json_close(j, '}');
    }
    cud_json_close(j, ']');
}

/* What is beyond a microsecond is noise. */
static double microseconds(double seconds)
{
    return round(seconds * 1e6) / 1e6;
}

static void put_run(struct cud_json *j, const struct cud_run_facts *facts)
{
    cud_json_open(j, "run", '{', false);
    cud_json_string(j, "version", PACKAGE_VERSION);
    cud_json_open(j, "libraries", '{', true);
    cud_json_string(j, "mpi", facts->mpi_library);
    cud_json_string(j, "vendor", facts->vendor_library);
    cud_json_close(j, '}');
    cud_json_count(j, "ranks", (uint64_t)facts->binding->ranks);
    put_hosts(j, facts->binding);
    put_devices(j, facts->binding);
    cud_json_string(j, "write", facts->write);
    cud_json_string(j, "comm", facts->comm);
    cud_json_count(j, "window_bytes", facts->window_bytes);
    cud_json_open(j, "times", '{', true);
    cud_json_number(j, "start", microseconds(facts->start));
    cud_json_number(j, "stream", microseconds(facts->stream));
    cud_json_number(j, "commit", microseconds(facts->commit));
    cud_json_close(j, '}');
    cud_json_open(j, "bytes", '{', true);
    cud_json_count(j, "read", facts->bytes_read);
    cud_json_count(j, "written", facts->bytes_written);
    cud_json_close(j, '}');
    cud_json_string(j, "bottleneck", facts->bottleneck);
    cud_json_count(j, "restarts", 0);
    cud_json_string(j, "started", facts->started);
    cud_json_string(j, "slurm_job", getenv("SLURM_JOB_ID"));
    cud_json_close(j, '}');
}

enum cud_status cud_result_json(const struct cud_run_facts *facts, char **text, size_t *n, struct cud_err *err)
{
    struct cud_json j = {.first = true};
    char *made = NULL;
    size_t bytes = 0;
    if (!(j.to = open_memstream(&made, &bytes)))
        return FAIL(err, CUD_EFAILED, "no memory for the result");
    cud_json_open(&j, NULL, '{', false);
    cud_json_count(&j, "schema", 1);
    put_result(&j, facts);
    put_run(&j, facts);
    cud_json_open(&j, "checksums", '[', true);
    cud_json_close(&j, ']');
    cud_json_close(&j, '}');
    fputc('\n', j.to);
    const bool bad = ferror(j.to) != 0;
    if (fclose(j.to) || bad) {
        free(made);
        return FAIL(err, CUD_EFAILED, "no memory for the result");
    }
    *text = made;
    *n = bytes;
    return CUD_OK;
}
