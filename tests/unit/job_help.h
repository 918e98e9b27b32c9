/* For tests of jobs: the environment, a job file and a command line as short texts. */
#ifndef JOB_HELP_H
#define JOB_HELP_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../tap.h"
#include "options.h"

extern char **environ;

static char folder[4096];                  /* the current one */
static char job_path[4096];                /* where read_job puts a job file */

static void clear_environment(void)
{
    for (char **v = environ; *v;) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*v, "="), *v);
        if (strncmp(name, "CUDIST_", 7) == 0) {
            unsetenv(name);
            v = environ;
        } else {
            v++;
        }
    }
}

/* The words between |, each in memory of its own, so that a step beyond its end is seen. */
static size_t split(const char *text, char **word)
{
    size_t n = 0;
    for (const char *at = text; *text && at; n++) {
        word[n] = strndup(at, strcspn(at, "|"));
        at = strchr(at, '|');
        at += at != NULL;
    }
    return n;
}

static void write_job(const char *text, size_t n)
{
    FILE *f = fopen(job_path, "wb");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0)
        puts("Bail out! cannot write a job file");
}

/* env and args are separated by |; file is a job file's text or NULL. */
static enum cud_status read_job(const char *env, const char *file, const char *args, struct cud_job *job, struct cud_err *err)
{
    char *argv[64] = {(char *)"cudist", (char *)"--job", job_path}, *variable[16];
    size_t given = file ? 3 : 1;
    memset(job, 0, sizeof *job);
    memset(err, 0, sizeof *err);
    clear_environment();
    size_t n = split(env ? env : "", variable), argc = given + split(args, argv + given);
    for (size_t i = 0; i < n; i++) {
        *strchr(variable[i], '=') = '\0';
        setenv(variable[i], variable[i] + strlen(variable[i]) + 1, 1);
        free(variable[i]);
    }
    if (file)
        write_job(file, strlen(file));
    argv[argc] = NULL;
    enum cud_status status = cud_job_read((int)argc, argv, job, err);
    clear_environment();
    while (argc > given)
        free(argv[--argc]);
    return status;
}

static char *show(const struct cud_job *job)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    cud_job_show(job, f);
    fclose(f);
    return text;
}

static void begin(void)
{
    char *here = get_current_dir_name();
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s", here);
    snprintf(job_path, sizeof job_path, "%s/cudist-unit-%ld.job", temporary ? temporary : "/tmp", (long)getpid());
    free(here);
}

static int end(void)
{
    unlink(job_path);
    return done_testing();
}

#endif
