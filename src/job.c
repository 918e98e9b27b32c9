#include "job.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "options.h"
#include "registry.h"
#include "text.h"
#include "value.h"

#define SAID 512                           /* how an option was written, for messages */

/* ---- giving values */

static void forget_setting(struct cud_job *job, size_t i)
{
    free(job->setting[i].value);
    free(job->setting[i].origin);
    job->settings--;
    memmove(&job->setting[i], &job->setting[i + 1], (job->settings - i) * sizeof *job->setting);
}

static void forget_many(struct cud_job *job, enum cud_option_many many)
{
    if (many == CUD_ALL_STEPS)
        while (job->steps)
            free(job->step[--job->steps].text);
    if (many == CUD_ALL_INPUTS)
        while (job->inputs)
            free(job->input[--job->inputs]);
    if (many == CUD_ALL_LOUDNESS)
        job->verbose = 0;
}

/* Drops what weaker places (or, where the last value counts, earlier ones) said. */
static void forget(struct cud_job *job, const struct cud_option *o)
{
    for (size_t i = job->settings; i-- > 0;) {
        const struct cud_option *was = cud_option_named(job->setting[i].option, CUD_IN_ANY);
        if (was == o || (was->many == o->many && o->many != CUD_LAST))
            forget_setting(job, i);
    }
    forget_many(job, o->many);
}

static enum cud_status note(struct cud_job *job, const struct cud_option *o, const char *value, const char *origin,
                            struct cud_err *err)
{
    struct cud_job_setting *more = realloc(job->setting, (job->settings + 1) * sizeof *more);
    if (!more)
        return FAIL(err, CUD_EFAILED, "no memory for the options");
    job->setting = more;
    struct cud_job_setting s = {.option = o->name, .value = strdup(value), .origin = strdup(origin)};
    job->setting[job->settings++] = s;
    return s.value && s.origin ? CUD_OK : FAIL(err, CUD_EFAILED, "no memory for the options");
}

enum cud_status cud_option_give(struct cud_reading *r, const struct cud_option *o, const char *value, const char *said,
                                const char *origin, struct cud_err *err)
{
    struct cud_err why = {0};
    if (!value)
        value = "yes";
    if (o->many == CUD_LAST || r->since[o->many] != r->place)
        forget(r->job, o);
    r->since[o->many] = r->place;
    if (o->action != CUD_RUN)
        r->job->action = o->action;
    if (o->set && o->set(o, value, r->job, &why) != CUD_OK) {
        cud_err_at(&why, "%s", said);
        if (err->status == CUD_OK)
            *err = why;
        return (enum cud_status)err->status;
    }
    return note(r->job, o, value, origin, err);
}

static enum cud_status give_defaults(struct cud_job *job, struct cud_err *err)
{
    const struct cud_option *o;
    enum cud_status status = CUD_OK;
    job->progress = -1;
    for (size_t i = 0; status == CUD_OK && (o = cud_option_at(i)); i++)
        if (o->fallback)
            status = o->set(o, o->fallback, job, err);
    return status;
}

/* ---- the environment */

extern char **environ;

static enum cud_status check_variable(const char *variable, struct cud_err *err)
{
    char name[CUD_OPTION_ENV], env[CUD_OPTION_ENV], shown[CUD_TEXT_SHOWN];
    const char *end = strchr(variable, '=');
    if (strncmp(variable, "CUDIST_", 7) != 0 || !end || !end[1])
        return CUD_OK;
    size_t n = (size_t)(end - variable) < sizeof name ? (size_t)(end - variable) : sizeof name - 1;
    memcpy(name, variable, n);
    name[n] = '\0';
    if (cud_option_env_other(name))
        return CUD_OK;
    const struct cud_option *o;
    for (size_t i = 0; (o = cud_option_at(i)); i++) {
        if (strcmp(cud_option_env(o, env), name) != 0)
            continue;
        return o->places & CUD_IN_ENV ? CUD_OK
               : FAIL(err, CUD_EUSAGE, "environment variable %s: %s%s cannot be set in the environment: unset it", name,
                      o->places & CUD_IN_ARGV ? "--" : "", o->name);
    }
    const char *near = cud_option_nearest(name + 7, CUD_IN_ENV);
    if (near)
        return FAIL(err, CUD_EUSAGE, "environment variable %s is no option of cudist; did you mean %s?",
                    cud_text_shown(name, shown), cud_option_env(cud_option_named(near, CUD_IN_ENV), env));
    return FAIL(err, CUD_EUSAGE, "environment variable %s is no option of cudist: unset it", cud_text_shown(name, shown));
}

static enum cud_status read_environment(struct cud_reading *r, struct cud_err *err)
{
    char env[CUD_OPTION_ENV], said[SAID], origin[CUD_OPTION_ENV + 16], shown[CUD_TEXT_SHOWN];
    const struct cud_option *o;
    enum cud_status status = CUD_OK;
    r->place = CUD_IN_ENV;
    for (char **variable = environ; status == CUD_OK && *variable; variable++)
        status = check_variable(*variable, err);
    for (size_t i = 0; status == CUD_OK && (o = cud_option_at(i)); i++) {
        const char *value = o->places & CUD_IN_ENV ? getenv(cud_option_env(o, env)) : NULL;
        if (!value || !*value)
            continue;
        snprintf(said, sizeof said, "%s='%s'", env, cud_text_shown(value, shown));
        snprintf(origin, sizeof origin, "environment %s", env);
        status = cud_option_give(r, o, value, said, origin, err);
    }
    return status;
}

/* ---- the command line: walked twice, first for --job (and how long it may take) and for --help and the like, which end it */

struct walk {
    int argc;
    char **argv;
    int at;
    bool looking;
    double wait;                           /* --timeout, while looking; < 0: not given */
    struct cud_reading *r;
};

static bool ends_it(enum cud_action action)
{
    return action == CUD_HELP || action == CUD_VERSION || action == CUD_LIST_KERNELS;
}

static enum cud_status give(struct walk *w, const struct cud_option *o, const char *value, struct cud_err *err)
{
    char said[SAID], shown[CUD_TEXT_SHOWN];
    struct cud_job *job = w->r->job;
    bool named = o->places & CUD_IN_ARGV, is_job = strcmp(o->name, "job") == 0;
    if (w->looking && is_job && job->job_file)
        return FAIL(err, CUD_EUSAGE, "--job is given twice: one job file is read");
    if (w->looking && ends_it(o->action))
        job->action = o->action;
    if (w->looking && strcmp(o->name, "timeout") == 0)
        (void)cud_value_seconds(value, &w->wait, &(struct cud_err){0});
    if (w->looking && !is_job)
        return CUD_OK;
    snprintf(said, sizeof said, "%s%s%s'%s'", named ? "--" : "", named ? o->name : "INPUT", o->value ? " " : "=",
             cud_text_shown(value ? value : "yes", shown));
    return cud_option_give(w->r, o, value, said, "command line", err);
}

/* The value that an option takes from the next argument. */
static enum cud_status next_value(struct walk *w, const struct cud_option *o, const char **value, struct cud_err *err)
{
    char shown[CUD_TEXT_SHOWN];
    const char *next = w->at + 1 < w->argc ? w->argv[w->at + 1] : NULL;
    if (!next)
        return FAIL(err, CUD_EUSAGE, "--%s needs a value: --%s %s", o->name, o->name, o->value);
    const bool signs = strcmp(o->name, "expr") == 0;   /* -x and -exp(x) are expressions */
    if (next[0] == '-' && next[1] && next[1] != '.' && !isdigit((unsigned char)next[1]) && !signs) {
        cud_text_shown(next, shown);
        return FAIL(err, CUD_EUSAGE, "--%s needs a value, but '%s' follows (if that is the value, write --%s=%s)", o->name,
                    shown, o->name, shown);
    }
    w->at++;
    *value = next;
    return CUD_OK;
}

static enum cud_status long_option(struct walk *w, const char *arg, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_option *o = NULL;
    size_t n = strcspn(arg, "=");
    const char *value = arg[n] ? arg + n + 1 : NULL;
    TRY(cud_option_long(arg, n, &o, err));
    if (value && o->action != CUD_RUN && !o->value)
        TRY(FAIL(err, CUD_EUSAGE, "--%s takes no value", o->name));
    if (!value && o->value)
        TRY(next_value(w, o, &value, err));
    TRY(give(w, o, value, err));
done:
    return status;
}

/* -window is not -w with the value indow. */
static enum cud_status check_dashes(const char *arg, struct cud_err *err)
{
    char name[64];
    size_t n = strcspn(arg + 1, "=");
    if (n < 2 || n >= sizeof name)
        return CUD_OK;
    memcpy(name, arg + 1, n);
    name[n] = '\0';
    if (cud_option_named(name, CUD_IN_ARGV))
        return FAIL(err, CUD_EUSAGE, "unknown option '-%s'; did you mean --%s?", name, name);
    return CUD_OK;
}

static enum cud_status unknown_letter(const char *arg, const char *letter, struct cud_err *err)
{
    char shown[CUD_TEXT_SHOWN];
    cud_text_shown(arg, shown);
    if (arg[2] && isgraph((unsigned char)*letter))
        return FAIL(err, CUD_EUSAGE, "unknown option '-%c' in %s; cudist --help lists all", *letter, shown);
    return FAIL(err, CUD_EUSAGE, "unknown option '%s'; cudist --help lists all", shown);
}

static enum cud_status short_options(struct walk *w, const char *arg, struct cud_err *err)
{
    char shown[CUD_TEXT_SHOWN];
    enum cud_status status = CUD_OK;
    TRY(check_dashes(arg, err));
    for (const char *c = arg + 1; *c; c++) {
        const struct cud_option *o = cud_option_lettered(*c);
        if (!o)
            return unknown_letter(arg, c, err);
        const char *value = o->value && c[1] ? c + 1 : NULL;
        if (value && *value == '=')
            return FAIL(err, CUD_EUSAGE, "'%s': write -%c %s or --%s=%s", cud_text_shown(arg, shown), *c, o->value, o->name,
                        o->value);
        if (o->value && !value)
            TRY(next_value(w, o, &value, err));
        TRY(give(w, o, value, err));
        if (o->value || ends_it(w->r->job->action))
            break;
    }
done:
    return status;
}

static enum cud_status walk(struct walk *w, struct cud_err *err)
{
    const struct cud_option *input = cud_option_named("input", CUD_IN_FILE);
    enum cud_status status = CUD_OK;
    bool options = true;
    w->r->place = CUD_IN_ARGV;
    for (w->at = 1; status == CUD_OK && w->at < w->argc && !ends_it(w->r->job->action); w->at++) {
        const char *arg = w->argv[w->at];
        if (options && strcmp(arg, "--") == 0)
            options = false;
        else if (options && strncmp(arg, "--", 2) == 0)
            status = long_option(w, arg + 2, err);
        else if (options && arg[0] == '-' && arg[1])
            status = short_options(w, arg, err);
        else
            status = give(w, input, arg, err);
    }
    return status;
}

/* ---- what follows from all that */

/* in.npy: in.out.npy; random:...: random.out.npy; in.v2: in.v2.out.npy. */
static enum cud_status default_output(const char *input, char **output, struct cud_err *err)
{
    bool random = strncmp(input, "random:", 7) == 0;
    const char *name = random ? "random" : strrchr(input, '/') + 1;
    const struct cud_format *format = cud_registry_format_of(name);
    const char *suffix = format && format->head ? cud_registry_suffix(name) : NULL;
    size_t stem = suffix ? (size_t)(suffix - name) : strlen(name), bytes = strlen(name) + sizeof ".out.npy";
    char *made = malloc(bytes);
    if (!made)
        return FAIL(err, CUD_EFAILED, "no memory for the options");
    snprintf(made, bytes, "%.*s.out%s", (int)stem, name, suffix ? suffix : ".npy");
    enum cud_status status = cud_value_path(made, output, err);
    free(made);
    return status;
}

static enum cud_status default_result(const char *output, char **result, struct cud_err *err)
{
    bool file = strcmp(output, "-") != 0 && strcmp(output, "none") != 0;
    size_t bytes = strlen(output) + sizeof ".json";
    if (!(*result = malloc(bytes)))
        return FAIL(err, CUD_EFAILED, "no memory for the options");
    snprintf(*result, bytes, "%s%s", file ? output : "none", file ? ".json" : "");
    return CUD_OK;
}

static enum cud_status default_step(struct cud_job *job, struct cud_err *err)
{
    static const char text[] = "scale:factor=2";
    struct cud_reading r = {.job = job};
    job->default_step = true;
    return cud_option_give(&r, cud_option_named("kernel", CUD_IN_ANY), text, text, "default", err);
}

static enum cud_status check(const struct cud_job *job, struct cud_err *err)
{
    if (job->action == CUD_INFO && job->inputs)
        return FAIL(err, CUD_EUSAGE, "--info tells of one FILE and runs nothing: leave out '%s'", job->input[0]);
    if (job->action == CUD_RUN && job->inputs == 0)
        return FAIL(err, CUD_EUSAGE, "no INPUT: cudist [OPTION]... INPUT... (cudist --help explains)");
    if (strcmp(job->output, "-") == 0 && strcmp(job->result, "-") == 0)
        return FAIL(err, CUD_EUSAGE, "--output - and --result -: only one of them can go to stdout");
    if (*job->result == '/' && strcmp(job->output, job->result) == 0)
        return FAIL(err, CUD_EUSAGE, "--output and --result are the same file: %s", job->result);
    for (size_t i = 0; i < job->inputs; i++)
        if (strcmp(job->result, job->input[i]) == 0)
            return FAIL(err, CUD_EUSAGE, "--result is also an input: %s", job->result);
    return CUD_OK;
}

static enum cud_status finish(struct cud_job *job, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    if (job->steps == 0 && !job->job_file)
        TRY(default_step(job, err));
    if (!job->output && job->inputs)
        TRY(default_output(job->input[0], &job->output, err));
    if (!job->output && !(job->output = strdup("none")))
        TRY(FAIL(err, CUD_EFAILED, "no memory for the options"));
    if (!job->result)
        TRY(default_result(job->output, &job->result, err));
    TRY(check(job, err));
done:
    return status;
}

enum cud_status cud_job_read(int argc, char **argv, struct cud_job *job, struct cud_err *err)
{
    struct cud_job made = {.action = CUD_RUN};
    struct cud_reading r = {.job = &made};
    struct walk w = {.argc = argc, .argv = argv, .looking = true, .wait = -1, .r = &r};
    enum cud_status status = CUD_OK;
    TRY(give_defaults(&made, err));
    TRY(walk(&w, err));
    if (!ends_it(made.action)) {
        w.looking = false;
        TRY(read_environment(&r, err));
        if (made.job_file)
            TRY(cud_job_file_read(made.job_file, w.wait < 0 ? made.timeout : w.wait, &r, err));
        TRY(walk(&w, err));
    }
    TRY(finish(&made, err));
    *job = made;
done:
    if (status != CUD_OK)
        cud_job_free(&made);
    return status;
}

void cud_job_free(struct cud_job *job)
{
    while (job->settings)
        forget_setting(job, job->settings - 1);
    forget_many(job, CUD_ALL_STEPS);
    forget_many(job, CUD_ALL_INPUTS);
    free(job->setting);
    free(job->step);
    free(job->input);
    free(job->info);
    free(job->output);
    free(job->result);
    free(job->trace);
    free(job->device);
    free(job->comm);
    free(job->job_file);
    memset(job, 0, sizeof *job);
}
