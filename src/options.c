#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "expr.h"
#include "registry.h"
#include "value.h"

#define OPTIONS_MAX 64
#define AT(field) offsetof(struct cud_job, field)
#define FIELD(type) ((type *)(void *)((char *)job + o->at))
#define SETTER(name) \
    static enum cud_status name(const struct cud_option *o, const char *value, struct cud_job *job, struct cud_err *err)

enum {
    EVERYWHERE = CUD_IN_ARGV | CUD_IN_ENV | CUD_IN_FILE,
    NOT_IN_ENV = CUD_IN_ARGV | CUD_IN_FILE
};

/* ---- setters: one for each kind of value */

static enum cud_status replace(char **text, const char *with, struct cud_err *err)
{
    char *copy = strdup(with);
    if (!copy)
        return FAIL(err, CUD_EFAILED, "no memory for its value");
    free(*text);
    *text = copy;
    return CUD_OK;
}

SETTER(set_flag)
{
    return cud_value_flag(value, FIELD(bool), err);
}

static enum cud_status replace_path(char **path, const char *with, struct cud_err *err)
{
    char *full;
    enum cud_status status = cud_value_path(with, &full, err);
    if (status != CUD_OK)
        return status;
    free(*path);
    *path = full;
    return CUD_OK;
}

SETTER(set_path)
{
    return replace_path(FIELD(char *), value, err);
}

SETTER(set_output)                         /* - and none are no files: ./- and ./none are */
{
    bool file = strcmp(value, "-") != 0 && strcmp(value, "none") != 0;
    return (file ? replace_path : replace)(FIELD(char *), value, err);
}

static enum cud_status replace_source(char **source, const char *with, struct cud_err *err)
{
    if (strcmp(with, "-") == 0)
        return FAIL(err, CUD_EUSAGE, "an array cannot be read from standard input: give a file (one called - is ./-)");
    bool file = strncmp(with, "random:", 7) != 0;      /* one called random:... is ./random:... */
    return (file ? replace_path : replace)(source, with, err);
}

SETTER(set_source)
{
    return replace_source(FIELD(char *), value, err);
}

SETTER(set_input)
{
    (void)o;
    char **more = realloc(job->input, (job->inputs + 1) * sizeof *more);
    if (!more)
        return FAIL(err, CUD_EFAILED, "no memory for its value");
    job->input = more;
    job->input[job->inputs] = NULL;
    enum cud_status status = replace_source(&job->input[job->inputs], value, err);
    job->inputs += status == CUD_OK;
    return status;
}

SETTER(set_step)
{
    struct cud_job_step *more = realloc(job->step, (job->steps + 1) * sizeof *more);
    if (!more)
        return FAIL(err, CUD_EFAILED, "no memory for its value");
    job->step = more;
    if (value[strspn(value, " \t")] == '\0')
        return FAIL(err, CUD_EUSAGE, "needs a name");
    struct cud_job_step step = {.kind = o->letter, .text = strdup(value)};
    if (!step.text)
        return FAIL(err, CUD_EFAILED, "no memory for its value");
    job->step[job->steps++] = step;
    return CUD_OK;
}

SETTER(set_expr)                           /* what depends on the input's type and shape is checked when they are known */
{
    struct cud_expr *e = NULL;
    enum cud_status status = cud_expr_parse(value, &e, err);
    cud_expr_free(e);
    return status == CUD_OK ? set_step(o, value, job, err) : status;
}

static enum cud_status find_type(const char *value, enum cud_type *type, struct cud_err *err)
{
    char list[CUD_TYPES * 8] = "";
    const char *names[CUD_TYPES];
    if (cud_type_find(value, type))
        return CUD_OK;
    for (int i = 0; i < CUD_TYPES; i++) {
        names[i] = cud_type_name((enum cud_type)i);
        strcat(strcat(list, i ? " " : ""), names[i]);
    }
    const char *near = cud_registry_nearest(value, names, CUD_TYPES);
    if (near)
        return FAIL(err, CUD_EUSAGE, "not a type (%s); did you mean %s?", list, near);
    return FAIL(err, CUD_EUSAGE, "not a type (%s)", list);
}

SETTER(set_dtype)
{
    (void)o;
    enum cud_status status = find_type(value, &job->given.type, err);
    job->given.has_type |= status == CUD_OK;
    return status;
}

SETTER(set_out_dtype)
{
    (void)o;
    enum cud_status status = find_type(value, &job->out_type, err);
    job->has_out_type |= status == CUD_OK;
    return status;
}

SETTER(set_shape)
{
    (void)o;
    struct cud_shape shape = {0};
    struct cud_err why = {0};
    if (cud_shape_parse(value, &shape, &why) != CUD_OK)
        return FAIL(err, CUD_EUSAGE, "%s", why.text);
    job->given.shape = shape;
    job->given.has_shape = true;
    return CUD_OK;
}

SETTER(set_offset)
{
    (void)o;
    enum cud_status status = cud_value_size(value, 0, &job->given.offset, err);
    job->given.has_offset |= status == CUD_OK;
    return status;
}

SETTER(set_size) { return cud_value_size(value, 1, FIELD(uint64_t), err); }
SETTER(set_rows) { return cud_value_count(value, 1, INT64_MAX, FIELD(uint64_t), err); }
SETTER(set_seconds) { return cud_value_seconds(value, FIELD(double), err); }

SETTER(set_threads)
{
    uint64_t n;
    enum cud_status status = cud_value_count(value, 1, 4096, &n, err);
    if (status == CUD_OK)
        *FIELD(unsigned) = (unsigned)n;
    return status;
}

SETTER(set_word)
{
    size_t place;
    enum cud_status status = cud_value_choice(value, o->choices, &place, err);
    return status == CUD_OK ? replace(FIELD(char *), value, err) : status;
}

SETTER(set_write)
{
    size_t place;
    enum cud_status status = cud_value_choice(value, o->choices, &place, err);
    if (status == CUD_OK)
        *FIELD(enum cud_write) = (enum cud_write)place;
    return status;
}

SETTER(set_nan)
{
    size_t place;
    enum cud_status status = cud_value_choice(value, o->choices, &place, err);
    if (status == CUD_OK)
        *FIELD(enum cud_nan) = (enum cud_nan)place;
    return status;
}

SETTER(set_verbose)
{
    bool on = false;
    (void)o;
    bool twice = strcmp(value, "2") == 0;
    enum cud_status status = twice ? CUD_OK : cud_value_flag(value, &on, err);
    if (twice || on)
        job->verbose = twice || job->verbose >= 1 ? 2 : 1;
    return status;
}

SETTER(set_quiet)
{
    bool on = false;
    (void)o;
    enum cud_status status = cud_value_flag(value, &on, err);
    if (on)
        job->verbose = -1;
    return status;
}

/* ---- the table */

static const struct cud_option table[] = {
    {"kernel", 'k', "NAME[:P=V,...]", NULL, CUD_GROUP_STEPS, EVERYWHERE, CUD_ALL_STEPS, CUD_RUN, NULL, AT(step), set_step,
     "a built-in kernel (--list-kernels) and its parameters; no step and no job: scale:factor=2"},
    {"expr", 'e', "EXPR", NULL, CUD_GROUP_STEPS, EVERYWHERE, CUD_ALL_STEPS, CUD_RUN, NULL, AT(step), set_expr,
     "an expression of the element x, in C: 'x > 0 ? x : 0.01*x', 'x - row_mean', 'x[0]*x[1], x[2]'"},

    {"input", 0, "PATH", NULL, CUD_GROUP_INPUT, CUD_IN_FILE, CUD_ALL_INPUTS, CUD_RUN, NULL, AT(input), set_input,
     "in a job file only: one INPUT (again for more)"},
    {"dtype", 0, "T", NULL, CUD_GROUP_INPUT, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(given.type), set_dtype,
     "type of raw input: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 (default: f32), or as NumPy calls them"},
    {"shape", 0, "D0xD1...", NULL, CUD_GROUP_INPUT, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(given.shape), set_shape,
     "shape of raw input; the first dimension counts the rows (default: one dimension)"},
    {"offset", 0, "SIZE", NULL, CUD_GROUP_INPUT, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(given.offset), set_offset,
     "bytes in front of raw input's first element (default: 0)"},

    {"output", 'o', "PATH", NULL, CUD_GROUP_OUTPUT, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(output), set_output,
     "the output array: .npy, .bin or .raw; - is stdout, none is no output (default: INPUT's name with .out before its suffix, "
     "in the current folder)"},
    {"force", 'f', NULL, "no", CUD_GROUP_OUTPUT, NOT_IN_ENV, CUD_LAST, CUD_RUN, NULL, AT(force), set_flag,
     "replace an existing output"},
    {"out-dtype", 0, "T", NULL, CUD_GROUP_OUTPUT, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(out_type), set_out_dtype,
     "type of the output; to an integer: rounds to even, saturates (default: the input's; f32 or f64 after steps on integers)"},
    {"result", 0, "PATH", NULL, CUD_GROUP_OUTPUT, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(result), set_output,
     "statistics and facts of the run as JSON; - is stdout, none is no file (default: OUTPUT.json; none if OUTPUT is no file)"},
    {"write", 0, "WAY", "auto", CUD_GROUP_OUTPUT, EVERYWHERE, CUD_LAST, CUD_RUN, "auto direct root", AT(write), set_write,
     "direct: each rank writes its rows; root: rank 0 writes all; auto: direct where the file system allows"},

    {"nan", 0, "POLICY", "propagate", CUD_GROUP_STATS, EVERYWHERE, CUD_LAST, CUD_RUN, "propagate omit fail", AT(nan), set_nan,
     "NaN in the output: propagate: sum, mean and the like are NaN, with a warning; omit: they are of all else; fail: exit 5, "
     "the first row named, and no output"},

    {"device", 'd', "DEVICE", "auto", CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, "auto cpu cuda", AT(device), set_word,
     "auto, cpu or cuda; auto: cuda where every rank has a GPU of its own, cpu where no rank sees one"},
    {"comm", 0, "WAY", "auto", CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, "auto mpi nccl cuda-mpi", AT(comm),
     set_word, "how rows travel to rank 0: mpi, nccl (from GPU to GPU), or cuda-mpi (MPI takes them from the GPU); auto: nccl "
     "where every rank has a GPU of its own and NCCL is there, else mpi"},
    {"share-gpus", 0, NULL, "no", CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(share_gpus), set_flag,
     "several ranks may use one GPU"},
    {"batch", 'b', "ROWS", NULL, CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(batch), set_rows,
     "rows that steps such as dense see at a time (default: 1024)"},
    {"window", 'w', "SIZE", NULL, CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(window), set_size,
     "bytes of rows that a thread has in hand at a time (default: 1M on the CPU; 32M on "
     "a GPU, less where it has little memory)"},
    {"threads", 0, "N", NULL, CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(threads), set_threads,
     "threads of each rank (default: its share of the CPUs it may use)"},
    {"timeout", 't', "SECONDS", "300", CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(timeout), set_seconds,
     "end the job when a rank makes no progress for so long; 0: never (default: 300)"},
    {"progress", 0, "SECONDS", NULL, CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(progress), set_seconds,
     "a line of progress every so often; 0: off (default: a bar on a terminal, a line a minute elsewhere)"},
    {"trace", 0, "FILE", NULL, CUD_GROUP_RUN, EVERYWHERE, CUD_LAST, CUD_RUN, NULL, AT(trace), set_path,
     "write a timeline of all ranks and threads, for https://ui.perfetto.dev"},
    {"job", 0, "FILE", NULL, CUD_GROUP_RUN, CUD_IN_ARGV, CUD_LAST, CUD_RUN, NULL, AT(job_file), set_path,
     "read options from a job file; those of the command line win"},
    {"dry-run", 0, NULL, "no", CUD_GROUP_RUN, CUD_IN_ARGV, CUD_LAST, CUD_RUN, NULL, AT(dry_run), set_flag,
     "check everything and show the plan; write nothing"},

    {"verbose", 'v', NULL, "no", CUD_GROUP_TELL, EVERYWHERE, CUD_ALL_LOUDNESS, CUD_RUN, NULL, AT(verbose), set_verbose,
     "say more; twice: also where in the source an error arose"},
    {"quiet", 'q', NULL, "no", CUD_GROUP_TELL, EVERYWHERE, CUD_ALL_LOUDNESS, CUD_RUN, NULL, AT(verbose), set_quiet,
     "errors only: no notes, warnings, progress or statistics"},
    {"list-kernels", 0, NULL, NULL, CUD_GROUP_TELL, CUD_IN_ARGV, CUD_LAST, CUD_LIST_KERNELS, NULL, 0, NULL,
     "the built-in kernels and their parameters"},
    {"info", 0, "FILE", NULL, CUD_GROUP_TELL, CUD_IN_ARGV, CUD_LAST, CUD_INFO, NULL, AT(info), set_source,
     "format, type and shape of an input"},
    {"doctor", 0, NULL, NULL, CUD_GROUP_TELL, CUD_IN_ARGV, CUD_LAST, CUD_DOCTOR, NULL, 0, NULL,
     "checks launch, CPUs, GPUs, memory, limits and the output's folder, and the job if there is an INPUT; runs nothing"},
    {"show-config", 0, NULL, NULL, CUD_GROUP_TELL, CUD_IN_ARGV, CUD_LAST, CUD_SHOW_CONFIG, NULL, 0, NULL,
     "every option, its value and where it comes from, as a job file"},
    {"help", 'h', NULL, NULL, CUD_GROUP_TELL, CUD_IN_ARGV, CUD_LAST, CUD_HELP, NULL, 0, NULL, "this text"},
    {"version", 'V', NULL, NULL, CUD_GROUP_TELL, CUD_IN_ARGV, CUD_LAST, CUD_VERSION, NULL, 0, NULL, "the version"},
};
enum { OPTIONS = sizeof table / sizeof *table };
_Static_assert(OPTIONS <= OPTIONS_MAX, "make OPTIONS_MAX larger");

const char *cud_option_group(enum cud_option_group group)
{
    static const char *const heading[CUD_GROUPS] = {
        "Steps, in the order given, each on the output of the one before", "Input", "Output", "Statistics", "Running", "Information"
    };
    return heading[group];
}

/* ---- finding rows */

const struct cud_option *cud_option_at(size_t i) { return i < OPTIONS ? &table[i] : NULL; }

const struct cud_option *cud_option_named(const char *name, enum cud_option_place place)
{
    for (const struct cud_option *o = table; o < table + OPTIONS; o++)
        if ((o->places & place) && strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

const struct cud_option *cud_option_lettered(char letter)
{
    for (const struct cud_option *o = table; o < table + OPTIONS; o++)
        if (o->letter == letter && letter)
            return o;
    return NULL;
}

const char *cud_option_nearest(const char *name, enum cud_option_place place)
{
    const char *names[OPTIONS];
    size_t n = 0;
    for (const struct cud_option *o = table; o < table + OPTIONS; o++)
        if (o->places & place)
            names[n++] = o->name;
    return cud_registry_nearest(name, names, n);
}

static enum cud_status unknown_long(const char *name, size_t n, struct cud_err *err)
{
    char typed[64];                        /* what is longer is near to nothing */
    snprintf(typed, sizeof typed, "%.*s", (int)n, name);
    const char *const near = n < sizeof typed ? cud_option_nearest(typed, CUD_IN_ARGV) : NULL;
    if (strcmp(typed, "input") == 0)
        return FAIL(err, CUD_EUSAGE, "unknown option '--input', which is for job files: write the file's name alone");
    if (near)
        return FAIL(err, CUD_EUSAGE, "unknown option '--%s'; did you mean --%s?", typed, near);
    return FAIL(err, CUD_EUSAGE, "unknown option '--%.*s'; cudist --help lists all", (int)n, name);
}

enum cud_status cud_option_long(const char *name, size_t n, const struct cud_option **o, struct cud_err *err)
{
    char list[OPTIONS_MAX * 20] = "";
    const struct cud_option *found = NULL;
    size_t many = 0;
    for (const struct cud_option *i = table; i < table + OPTIONS; i++) {
        if (!(i->places & CUD_IN_ARGV) || n == 0 || strncmp(i->name, name, n) != 0)
            continue;
        if (i->name[n] == '\0') {
            *o = i;
            return CUD_OK;
        }
        strcat(strcat(list, many++ ? ", --" : "--"), i->name);
        found = i;
    }
    if (many == 0)
        return unknown_long(name, n, err);
    if (many > 1)
        return FAIL(err, CUD_EUSAGE, "option '--%.*s' is not clear: %s", (int)n, name, list);
    *o = found;
    return CUD_OK;
}

const char *cud_option_env(const struct cud_option *o, char text[CUD_OPTION_ENV])
{
    char *to = stpcpy(text, "CUDIST_");
    for (const char *c = o->name; *c && to < text + CUD_OPTION_ENV - 1; c++)
        *to++ = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    *to = '\0';
    return text;
}

bool cud_option_env_other(const char *name)
{
    return strcmp(name, "CUDIST_ISA") == 0 || strcmp(name, "CUDIST_LIBS") == 0 || strcmp(name, "CUDIST_NVRTC") == 0 || strcmp(name, "CUDIST_STRICT") == 0 ||
           strncmp(name, "CUDIST_TEST_", 12) == 0;
}
