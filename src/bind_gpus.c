/* Bipartite matching by augmenting paths (Kuhn), a host at a time, with a limit of ranks a GPU that grows only when GPUs are
 * shared: as long as one more can be served under the limit, nobody is put on a GPU that is full. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bind_gpus.h"
#include "registry.h"

struct node {                              /* the ranks and the GPUs of one host */
    int members, gpus;
    int *rank;                             /* of a member, rising */
    const char (**name)[48];               /* of a GPU: its UUID, where somebody's list has it; */
    int *first;                            /* and its number in that list */
    int *load;                             /* of a GPU: its ranks */
    bool *tried;                           /* in this search */
    int (*gpu)[CUD_SEEN_MAX];              /* of a member's device numbers */
    int *count;                            /* of a member's devices */
    int *seat;                             /* of a member: the device number, -1 */
};

static void node_free(struct node *n)
{
    free(n->rank);
    free(n->name);
    free(n->first);
    free(n->load);
    free(n->tried);
    free(n->gpu);
    free(n->count);
    free(n->seat);
}

static bool node_room(struct node *n, int ranks)
{
    const size_t m = (size_t)ranks, g = m * CUD_SEEN_MAX;
    n->rank = calloc(m, sizeof *n->rank);
    n->name = calloc(g, sizeof *n->name);
    n->first = calloc(g, sizeof *n->first);
    n->load = calloc(g, sizeof *n->load);
    n->tried = calloc(g, sizeof *n->tried);
    n->gpu = calloc(m, sizeof *n->gpu);
    n->count = calloc(m, sizeof *n->count);
    n->seat = calloc(m, sizeof *n->seat);
    return n->rank && n->name && n->first && n->load && n->tried && n->gpu && n->count && n->seat;
}

/* The number of this GPU on its host. */
static int find_gpu(struct node *n, const char (*uuid)[48], int number)
{
    for (int g = 0; g < n->gpus; g++)
        if (strcmp(*n->name[g], *uuid) == 0 && (**uuid || n->first[g] == number))
            return g;
    n->name[n->gpus] = uuid;
    n->first[n->gpus] = number;
    n->load[n->gpus] = 0;
    return n->gpus++;
}

static void node_fill(struct node *n, const struct cud_seen *seen, int ranks, int node)
{
    n->members = n->gpus = 0;
    for (int r = node; r < ranks; r++) {
        if (seen[r].node != node)
            continue;
        const int m = n->members++;
        n->rank[m] = r;
        n->seat[m] = -1;
        n->count[m] = seen[r].devices < CUD_SEEN_MAX ? seen[r].devices : CUD_SEEN_MAX;
        for (int d = 0; d < n->count[m]; d++)
            n->gpu[m][d] = find_gpu(n, &seen[r].uuid[d], d);
    }
}

/* A place for a member under the limit, moving others if need be. */
static bool place(struct node *n, int m, int limit)
{
    for (int d = 0; d < n->count[m]; d++)
        if (n->load[n->gpu[m][d]] < limit) {
            n->load[n->gpu[m][d]]++;
            n->seat[m] = d;
            return true;
        }
    for (int d = 0; d < n->count[m]; d++) {
        const int g = n->gpu[m][d];
        if (n->tried[g])
            continue;
        n->tried[g] = true;
        for (int o = 0; o < n->members; o++) {
            if (o == m || n->seat[o] < 0 || n->gpu[o][n->seat[o]] != g || !place(n, o, limit))
                continue;
            n->seat[m] = d;                /* the place of the one that moved: the load stays */
            return true;
        }
    }
    return false;
}

static int node_match(struct node *n, bool share)
{
    int served = 0;
    for (int limit = 1; limit <= (share ? n->members : 1) && served < n->members; limit++)
        for (int m = 0; m < n->members; m++)
            if (n->seat[m] < 0) {
                memset(n->tried, 0, (size_t)n->gpus * sizeof *n->tried);
                served += place(n, m, limit);
            }
    return served;
}

int cud_bind_gpus(const struct cud_seen *seen, int ranks, bool share, int *number)
{
    struct node n = {0};
    int served = 0;
    if (!node_room(&n, ranks)) {
        node_free(&n);
        return -1;
    }
    for (int r = 0; r < ranks; r++) {
        if (seen[r].node != r)
            continue;
        node_fill(&n, seen, ranks, r);
        served += node_match(&n, share);
        for (int m = 0; m < n.members; m++)
            number[n.rank[m]] = n.seat[m];
    }
    node_free(&n);
    return served;
}

enum cud_status cud_gpus_look(struct cud_seen *seen, struct cud_err *err)
{
    enum cud_status status = CUD_OK;
    const struct cud_device *cuda = cud_registry_device("cuda");
    struct cud_device_facts facts;
    int devices = 0;
    if (!cuda)
        return CUD_OK;
    TRY(cuda->count(&devices, err));
    seen->devices = devices < CUD_SEEN_MAX ? devices : CUD_SEEN_MAX;
    for (int d = 0; d < seen->devices; d++) {
        TRY(cuda->identify(d, &facts, err));
        memcpy(seen->uuid[d], facts.uuid, sizeof seen->uuid[d]);
    }
done:
    return status;
}
