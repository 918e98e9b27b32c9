#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "lock_owner.h"

#define TITLE "cudist lock"

/* Field 22 of /proc/PID/stat.  False: there is no such process, or only what is left of it (a zombie). */
static bool process_start(long pid, uint64_t *start)
{
    char name[64], text[1024];
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strrchr(text, ')');    /* the command's name may hold anything */
    if (!p || p[1] != ' ' || p[2] == 'Z' || p[2] == 'X')
        return false;
    p += 2;                                /* field 3 */
    for (int field = 3; field < 22 && p; field++)
        p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL;
    *start = p ? strtoull(p, NULL, 10) : 0;
    return p != NULL;
}

bool cud_owner_runs(const struct cud_owner *o)
{
    uint64_t start;
    return process_start(o->pid, &start) && (!o->start || start == o->start);
}

enum cud_status cud_owner_make(const char *host, struct cud_owner *me, struct cud_err *err)
{
    uint64_t bits[2];
    if (getrandom(bits, sizeof bits, 0) != sizeof bits)
        return FAIL(err, CUD_EFAILED, "no random bits for the run's id: %s", strerror(errno));
    snprintf(me->run, sizeof me->run, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
    snprintf(me->host, sizeof me->host, "%s", host);
    me->pid = getpid();
    if (!process_start(me->pid, &me->start))
        me->start = 0;
    const char *job = getenv("SLURM_JOB_ID");
    snprintf(me->job, sizeof me->job, "%s", job && *job ? job : "none");
    for (char *p = me->job; *p; p++)
        if (*p <= ' ')
            *p = '_';
    return CUD_OK;
}

int cud_owner_text(const struct cud_owner *o, char text[CUD_OWNER_TEXT])
{
    int n = snprintf(text, CUD_OWNER_TEXT, TITLE "\nrun %s\nhost %s\npid %ld\nstart %" PRIu64 "\njob %s\n", o->run, o->host,
                     o->pid, o->start, o->job);
    for (unsigned i = 0; i < o->files; i++)
        n += snprintf(text + n, CUD_OWNER_TEXT - (size_t)n, "file %" PRIu64 " %" PRIu64 "\n", o->file[i].ino, o->file[i].born);
    return n;
}

void cud_owner_add(struct cud_owner *o, struct cud_file_id id)
{
    if (o->files == CUD_LOCK_FILES)
        memmove(o->file, o->file + 1, --o->files * sizeof *o->file);
    o->file[o->files++] = id;
}

bool cud_owner_parse(const char *text, struct cud_owner *o)
{
    memset(o, 0, sizeof *o);
    size_t have = strlen(text), title = strlen(TITLE);
    if (strncmp(text, TITLE, have < title ? have : title))
        return false;
    struct cud_owner got = { 0 };
    if (sscanf(text, TITLE "\nrun %32s\nhost %63s\npid %ld\nstart %" SCNu64 "\njob %63s", got.run, got.host, &got.pid,
               &got.start, got.job) != 5)
        return true;
    *o = got;
    for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
        struct cud_file_id id;
        if (sscanf(line, "\nfile %" SCNu64 " %" SCNu64, &id.ino, &id.born) == 2)
            cud_owner_add(o, id);
    }
    return true;
}

const char *cud_owner_who(const struct cud_owner *o, char who[CUD_LOCK_WHO])
{
    if (!o->pid)
        snprintf(who, CUD_LOCK_WHO, "a run that is just starting");
    else if (!strcmp(o->job, "none"))
        snprintf(who, CUD_LOCK_WHO, "pid %ld on host %s", o->pid, o->host);
    else
        snprintf(who, CUD_LOCK_WHO, "pid %ld on host %s, Slurm job %s", o->pid, o->host, o->job);
    return who;
}
