/* Texts made from the tables: --help, --list-kernels, --show-config. */
#include <stdlib.h>
#include <string.h>
#include "options.h"
#include "registry.h"
#include "text.h"

#define HELP_AT 26                         /* where options' texts start */
#define KERNEL_AT 24
#define SHOW_AT 48

static const char head[] =
    "Usage: cudist [OPTION]... INPUT...\n"
    "  or:  mpirun -np N cudist [OPTION]... INPUT...\n"
    "Apply kernels to every row of an array that may be far larger than memory, on N\n"
    "ranks, with GPUs or without.  Leaves one output array, its statistics and a\n"
    "result file.  Output row i comes from input row i, and the bytes are the same\n"
    "for any number of ranks.\n"
    "\n"
    "INPUT is a file, or random:... for made-up data; several are one array, in\n"
    "order.  Formats:\n";

static const char tail[] =
    "\n"
    "Long options may be cut short; flags may end in =no.  SIZE takes K, M, G, T\n"
    "(powers of 1024).  Numbers are decimal: 2, -0.5, 1e-3, inf, nan.\n"
    "Most options may also be set in the environment (CUDIST_WINDOW=64M,\n"
    "CUDIST_OUT_DTYPE=f16) and in a job file (a line window = 64M).  The command\n"
    "line wins over the job file, that over the environment; steps on the command\n"
    "line replace all steps of the job file.\n"
    "\n"
    "Examples:\n"
    "  cudist random:shape=1000000x16       try it: no file needed; makes\n"
    "                                       random.out.npy and random.out.npy.json\n"
    "  mpirun -np 4 cudist in.npy -k scale:factor=0.5 -o half.npy\n"
    "  cudist in.npy -k affine:scale=2,shift=-1 -k relu       two steps, one output\n"
    "  cudist in.npy -e 'x > 0 ? x : 0.01*x' -o leaky.npy     a step in C\n"
    "  cudist --dtype u8 --shape 10000x784 images.bin -k scale:factor=0.5 -o i.npy\n"
    "  cudist in.npy -k softmax -o none                       statistics only\n"
    "\n"
    "Exit: 0 done, 1 failed, 2 usage, 3 bad input, 4 no GPU, 5 check failed,\n"
    "6 output exists, 75 stopped.\n"
    "More: man cudist\n";

/* A term, then its text in a column of its own; a long term has a line to itself. */
static void entry(FILE *to, const char *term, const char *text, int column)
{
    int at = fprintf(to, "%s", term);
    if (at > column - 2)
        at = fprintf(to, "\n") - 1;
    fprintf(to, "%*s", column - at, "");
    cud_text_wrap(text, column, column, to);
}

static void help_option(FILE *to, const struct cud_option *o)
{
    char term[96], letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    if (o->places & CUD_IN_ARGV)
        snprintf(term, sizeof term, "  %s--%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
    else
        snprintf(term, sizeof term, "      %s = %s", o->name, o->value);
    entry(to, term, o->help, HELP_AT);
}

static void help_formats(FILE *to)
{
    const struct cud_format *f;
    char term[64];
    for (size_t i = 0; (f = cud_registry_format_at(i)); i++) {
        snprintf(term, sizeof term, "  %s", *f->suffixes ? f->suffixes : f->name);
        entry(to, term, f->brief, 16);
    }
}

static void help_kernels(FILE *to)
{
    const struct cud_kernel *k;
    int at = fprintf(to, "\nKernels:") - 1;
    for (size_t i = 0; (k = cud_registry_kernel_at(i)); i++) {
        if (k->kind == CUD_INTERNAL)
            continue;
        if (at + 1 + (int)strlen(k->name) > CUD_TEXT_WIDTH)
            at = fprintf(to, "\n        ") - 1;
        at += fprintf(to, " %s", k->name);
    }
    fputc('\n', to);
}

void cud_job_help(FILE *to)
{
    const struct cud_option *o;
    fputs(head, to);
    help_formats(to);
    for (size_t i = 0; (o = cud_option_at(i)); i++) {
        if (i == 0 || cud_option_at(i - 1)->group != o->group)
            fprintf(to, "\n%s:\n", cud_option_group(o->group));
        help_option(to, o);
    }
    help_kernels(to);
    fputs(tail, to);
}

static void list_param(FILE *to, const struct cud_param *p)
{
    char term[96], text[512];
    const char *const kinds[] = {[CUD_NUMBER] = "NUMBER", [CUD_CHOICE] = p->choices, [CUD_ARRAY] = "FILE",
                                 [CUD_NUMBERS] = "NUMBER or FILE"};
    const char *const takes = kinds[p->kind];
    int n = snprintf(text, sizeof text, "%s: %s", takes, p->help);
    if (n > 0 && (size_t)n < sizeof text && !p->fallback)
        snprintf(text + n, sizeof text - (size_t)n, " (must be given)");
    else if (n > 0 && (size_t)n < sizeof text && *p->fallback)
        snprintf(text + n, sizeof text - (size_t)n, " (default: %s)", p->fallback);
    snprintf(term, sizeof term, "    %s=", p->name);
    entry(to, term, text, KERNEL_AT);
}

void cud_job_list_kernels(FILE *to)
{
    const struct cud_kernel *k;
    for (size_t i = 0; (k = cud_registry_kernel_at(i)); i++) {
        if (k->kind == CUD_INTERNAL)
            continue;
        entry(to, k->name, k->brief, KERNEL_AT);
        for (const struct cud_param *p = k->param; p && p->name; p++)
            list_param(to, p);
    }
}

/* ---- --show-config: a job file that says the same, each line with a comment on where it comes from */

static bool needs_quotes(const char *value)
{
    const size_t n = strlen(value);
    const bool comment = *value == '#' || strstr(value, " #") || strstr(value, "\t#");
    /* The last two may seem to go on into the comment. */
    const bool quote = *value == '"' || strstr(value, "='") || strstr(value, ",'");
    bool plain = true;
    for (const char *c = value; *c && plain; c += cud_text_printable(c))
        plain = cud_text_printable(c) > 0;
    return comment || quote || !plain || (n && (*value == ' ' || value[n - 1] == ' '));
}

/* In quotes what is not plain text is escaped: any path takes one line, and reads back as itself. */
static int show_quoted(FILE *to, const char *value)
{
    int at = fprintf(to, "\"");
    for (size_t n; *value; value += n ? n : 1) {
        n = cud_text_printable(value);
        if (*value == '"' || *value == '\\')
            at += fprintf(to, "%c%c", *value, *value);
        else if (n)
            at += fprintf(to, "%.*s", (int)n, value);
        else if (*value == '\n')
            at += fprintf(to, "\\n");
        else
            at += fprintf(to, "\\x%02x", (unsigned char)*value);
    }
    return at + fprintf(to, "\"");
}

static void show_line(FILE *to, const struct cud_option *o, const char *value, const char *origin)
{
    int at = fprintf(to, "%s%s = ", o->places & CUD_IN_FILE ? "" : "# ", o->name);
    at += needs_quotes(value) ? show_quoted(to, value) : fprintf(to, "%s", value);
    fprintf(to, "%*s  # ", at < SHOW_AT ? SHOW_AT - at : 0, "");
    cud_text_put(origin, to);
    fputc('\n', to);
}

/* The value in effect where it is not the text that was given: paths are absolute, -v may be given twice.  NULL: it is. */
static const char *in_effect(const struct cud_job *job, const struct cud_option *o)
{
    if (strcmp(o->name, "output") == 0)
        return job->inputs || strcmp(job->output, "none") != 0 ? job->output : NULL;
    if (strcmp(o->name, "result") == 0)
        return job->inputs || strcmp(job->result, "none") != 0 ? job->result : NULL;
    if (strcmp(o->name, "job") == 0)
        return job->job_file;
    if (strcmp(o->name, "verbose") == 0)
        return job->verbose == 2 ? "2" : job->verbose == 1 ? "yes" : "no";
    if (strcmp(o->name, "quiet") == 0)
        return job->verbose < 0 ? "yes" : "no";
    return NULL;
}

/* Their order matters, whichever option they were given by. */
static void show_steps(const struct cud_job *job, FILE *to)
{
    for (size_t i = 0; i < job->settings; i++) {
        const struct cud_option *const o = cud_option_named(job->setting[i].option, CUD_IN_ANY);
        if (o->many == CUD_ALL_STEPS)
            show_line(to, o, job->setting[i].value, job->setting[i].origin);
    }
}

static void show_option(const struct cud_job *job, const struct cud_option *o, FILE *to)
{
    const char *value = in_effect(job, o), *origin = NULL;
    size_t input = 0;
    for (size_t i = 0; i < job->settings; i++) {
        const struct cud_job_setting *s = &job->setting[i];
        if (s->option != o->name)
            continue;
        origin = s->origin;
        if (!value && o->many != CUD_ALL_STEPS)
            show_line(to, o, o->many == CUD_ALL_INPUTS ? job->input[input++] : s->value, origin);
    }
    if (!value && !origin)
        value = o->fallback;
    if (value)
        show_line(to, o, value, origin ? origin : "default");
    else if (!origin)
        fprintf(to, "# %s =%*s  # not given\n", o->name, (int)(SHOW_AT - 4 - strlen(o->name)), "");
}

void cud_job_show(const struct cud_job *job, FILE *to)
{
    const struct cud_option *o;
    show_steps(job, to);
    for (size_t i = 0; (o = cud_option_at(i)); i++)
        if (o->action == CUD_RUN)
            show_option(job, o, to);
}
