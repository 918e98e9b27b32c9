#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "probe.h"

enum { TRIES = 20, TRY_MS = 100 };

struct probe { char path[4096]; uint64_t token[2]; bool made; };

bool cud_probe_coherent(unsigned long f_type)
{
    static const unsigned long known[] = {0x0bd00bd3 /* Lustre */, 0x47504653 /* GPFS */, 0x19830326 /* BeeGFS */,
                                          0x00c36400 /* Ceph */};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == f_type)
            return true;
    return false;
}

/* Where it cannot be made (a full disk, a folder without permission), nothing is shared; the output's own error comes later. */
static void make(const char *folder, struct probe *p)
{
    if (getrandom(p->token, sizeof p->token, 0) != (ssize_t)sizeof p->token)
        return;
    const int n = snprintf(p->path, sizeof p->path, "%s/.cudist-probe-%016llx", folder, (unsigned long long)p->token[0]);
    const int fd = n < (int)sizeof p->path ? open(p->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    p->made = write(fd, p->token, sizeof p->token) == (ssize_t)sizeof p->token && fsync(fd) == 0;
    p->made = close(fd) == 0 && p->made;
}

static bool reads(const struct probe *p)
{
    uint64_t token[2] = {0};
    const int fd = open(p->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool same = read(fd, token, sizeof token) == (ssize_t)sizeof token && memcmp(token, p->token, sizeof token) == 0;
    close(fd);
    return same;
}

static bool finds(const struct probe *p)
{
    for (int i = 0; p->made && i < TRIES; i++) {
        if (reads(p))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = TRY_MS * 1000000L}, NULL);
    }
    return false;
}

enum cud_status cud_probe_shared(struct cud_ranks *ranks, const char *folder, bool *shared, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const int me = cud_rank_me(ranks), count = cud_rank_count(ranks);
    struct probe probe = {0};
    bool *found = calloc((size_t)count, sizeof *found);
    if (me == 0)
        make(folder, &probe);
    if (!found)
        (void)FAIL(err, CUD_EFAILED, "no memory for %d ranks", count);
    TRY(cud_rank_agree(ranks, err));
    TRY(cud_rank_bcast(ranks, &probe, sizeof probe, err));
    const bool mine = finds(&probe);
    TRY(cud_rank_allgather(ranks, &mine, sizeof mine, found, err));
    *shared = true;
    for (int i = 0; i < count; i++)
        *shared &= found[i];
done:
    if (me == 0 && probe.path[0])
        unlink(probe.path);
    free(found);
    return status;
}
