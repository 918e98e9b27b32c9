/* Which rank takes which GPU, and how many CPUs: the pure part of binding. */
#include <stdlib.h>
#include <string.h>
#include "bind.h"
#include "bind_cpus.h"
#include "bind_gpus.h"
#include "tests/tap.h"

#define RANKS_MAX 64

/* "AB AB | BA": a word a rank, a letter a GPU that it sees ('-': none, '.': one without a UUID), '|' between hosts. */
static int read_seen(const char *text, struct cud_seen *seen)
{
    int ranks = 0, node = 0;
    for (const char *c = text; *c;) {
        const size_t n = strcspn(c, " ");
        if (*c == '|')
            node = ranks;
        else if (n > 0) {
            struct cud_seen *s = &seen[ranks++];
            *s = (struct cud_seen){.node = node};
            for (size_t i = 0; i < n && *c != '-'; i++) {
                s->uuid[i][0] = c[i] == '.' ? '\0' : c[i];
                s->devices++;
            }
        }
        c += n + (c[n] == ' ');
    }
    return ranks;
}

static const char *number_text(const int *number, int ranks, char text[RANKS_MAX * 4])
{
    text[0] = '\0';
    for (int r = 0; r < ranks; r++)
        sprintf(text + strlen(text), "%s%d", r ? " " : "", number[r]);
    return text;
}

static void gpus(const char *what, const char *seen_text, bool share, const char *expected)
{
    static struct cud_seen seen[RANKS_MAX];
    int number[RANKS_MAX], served = 0;
    char text[RANKS_MAX * 4];
    const int ranks = read_seen(seen_text, seen);
    const int said = cud_bind_gpus(seen, ranks, share, number);
    for (int r = 0; r < ranks; r++)
        served += number[r] >= 0;
    number_text(number, ranks, text);
    if (!ok(strcmp(text, expected) == 0 && said == served, "%s: %s%s -> %s", what, seen_text, share ? ", shared" : "",
            expected))
        printf("# got %s (said %d)\n", text, said);
}

/* "1a 1b 2a": of each rank the host and where its GPU sits; expected: "0 2", or "" where no two ranks share one. */
static void shares(const char *what, const char *text, const char *expected)
{
    static struct cud_rank_facts facts[RANKS_MAX];
    struct cud_binding b = {.all = facts};
    char got[16] = "";
    int one, other;
    memset(facts, 0, sizeof facts);
    for (const char *c = text; *c; b.ranks++) {
        const size_t n = strcspn(c, " ");
        facts[b.ranks].node = *c - '0';
        memcpy(facts[b.ranks].device.pci, c + 1, n - 1);
        c += n + (c[n] == ' ');
    }
    if (cud_binding_share(&b, &one, &other))
        snprintf(got, sizeof got, "%d %d", one, other);
    if (!ok(strcmp(got, expected) == 0, "%s: %s -> %s", what, text, expected[0] ? expected : "none"))
        printf("# got %s\n", got);
}

/* No assignment serves more: tried by all permutations' worth of search. */
static int most(const struct cud_seen *seen, int ranks, int r, unsigned taken)
{
    if (r == ranks)
        return 0;
    int best = most(seen, ranks, r + 1, taken);
    for (int d = 0; d < seen[r].devices; d++) {
        const unsigned bit = 1u << (seen[r].uuid[d][0] - 'A');
        const int with = taken & bit ? 0 : 1 + most(seen, ranks, r + 1, taken | bit);
        best = with > best ? with : best;
    }
    return best;
}

static void random_gpus(void)
{
    int wrong = 0;
    srand(1);
    for (int round = 0; round < 3000; round++) {
        struct cud_seen seen[6] = {0};
        int number[6], load[8] = {0}, least = 99, highest = 0;
        const int ranks = 1 + rand() % 6;
        for (int r = 0; r < ranks; r++)
            for (int g = 0; g < 5; g++)
                if (rand() % 3 == 0)
                    seen[r].uuid[seen[r].devices++][0] = (char)('A' + g);
        const int served = cud_bind_gpus(seen, ranks, false, number);
        wrong += served != most(seen, ranks, 0, 0);
        for (int r = 0; r < ranks; r++)
            if (number[r] >= 0)
                wrong += load[seen[r].uuid[number[r]][0] - 'A']++ > 0;

        int able = 0;                      /* shared: all that see one are served; where all see the same, evenly */
        for (int r = 0; r < ranks; r++)
            able += seen[r].devices > 0;
        wrong += cud_bind_gpus(seen, ranks, true, number) != able;
        for (int r = 1; r < ranks; r++)
            seen[r] = seen[0];
        cud_bind_gpus(seen, ranks, true, number);
        memset(load, 0, sizeof load);
        for (int r = 0; seen[0].devices && r < ranks; r++)
            load[number[r]]++;
        for (int d = 0; d < seen[0].devices; d++) {
            least = load[d] < least ? load[d] : least;
            highest = load[d] > highest ? load[d] : highest;
        }
        wrong += seen[0].devices && highest - least > 1;
    }
    ok(wrong == 0, "3000 random tables: as many as possible, none twice, evenly when shared");
}

/* ---- CPUs */

static void set_cpus(struct cud_cpus *c, int node, int from, int to, double quota)
{
    *c = (struct cud_cpus){.node = node, .quota = quota};
    for (int i = from; i < to; i++)
        c->mask[i / 64] |= (uint64_t)1 << (i % 64);
}

static void cpus(const char *what, const int (*mask)[3], int ranks, double quota, const char *expected)
{
    static struct cud_cpus seen[RANKS_MAX];
    int number[RANKS_MAX];
    char text[RANKS_MAX * 4];
    for (int r = 0; r < ranks; r++)
        set_cpus(&seen[r], mask[r][0], mask[r][1], mask[r][2], quota);
    cud_bind_cpus(seen, ranks, number);
    number_text(number, ranks, text);
    if (!ok(strcmp(text, expected) == 0, "%s: %s", what, expected))
        printf("# got %s\n", text);
}

int main(void)
{
    gpus("all see all", "ABCD ABCD ABCD ABCD", false, "0 1 2 3");
    gpus("two hosts", "AB AB | CD CD", false, "0 1 0 1");
    gpus("two hosts whose GPUs have the same names", "AB AB | AB AB", false, "0 1 0 1");
    gpus("one each, always number 0", "A B C D", false, "0 0 0 0");
    gpus("other orders", "AB BA", false, "0 0");
    gpus("one must move", "AB A", false, "1 0");
    gpus("a chain of moves", "ABC AB A", false, "2 1 0");
    gpus("a chain the other way", "AB BC CD A", false, "1 1 1 0");
    gpus("too many ranks", "AB AB AB", false, "0 1 -1");
    gpus("one sees none", "AB - AB", false, "0 -1 1");
    gpus("nobody sees one", "- -", false, "-1 -1");
    gpus("a host without", "AB AB | - -", false, "0 1 -1 -1");
    gpus("all see the same one", "A A", false, "0 -1");
    gpus("mpirun's daemon has the one task: the other host sees one", "AB AB | C C", false, "0 1 0 -1");
    gpus("shared", "AB AB AB AB AB", true, "0 1 0 1 0");
    gpus("shared, one GPU", "A A A", true, "0 0 0");
    gpus("shared, one must move", "AB A", true, "1 0");
    gpus("shared, two hosts", "A A | BC BC BC", true, "0 0 0 1 0");
    gpus("shared, one sees none", "A - A", true, "0 -1 0");
    gpus("no UUIDs", ".. ..", false, "0 1");
    gpus("no UUIDs, one GPU", ". .", false, "0 -1");
    random_gpus();

    cpus("unbound", (const int[][3]){{0, 0, 8}, {0, 0, 8}}, 2, 0, "4 4");
    cpus("8 for 3", (const int[][3]){{0, 0, 8}, {0, 0, 8}, {0, 0, 8}}, 3, 0, "2 3 3");
    cpus("bound", (const int[][3]){{0, 0, 4}, {0, 4, 8}}, 2, 0, "4 4");
    cpus("more ranks than CPUs", (const int[][3]){{0, 0, 2}, {0, 0, 2}, {0, 0, 2}}, 3, 0, "1 1 1");
    cpus("two hosts", (const int[][3]){{0, 0, 8}, {0, 0, 8}, {2, 0, 6}}, 3, 0, "4 4 6");
    cpus("ranks of two hosts take turns", (const int[][3]){{0, 0, 8}, {1, 0, 6}, {0, 0, 8}, {1, 0, 6}}, 4, 0, "4 3 4 3");
    cpus("partly shared", (const int[][3]){{0, 0, 4}, {0, 2, 6}}, 2, 0, "3 3");
    cpus("many CPUs", (const int[][3]){{0, 0, 4096}}, 1, 0, "4096");
    cpus("a quota", (const int[][3]){{0, 0, 64}}, 1, 2.5, "2");
    cpus("a quota for two", (const int[][3]){{0, 0, 64}, {0, 0, 64}}, 2, 8, "4 4");
    cpus("a quota below 1", (const int[][3]){{0, 0, 64}}, 1, 0.5, "1");

    shares("GPUs of their own", "1a 1b 2a 2b", "");
    shares("two ranks on one, or on slices of it", "1a 1b 2a 1b", "1 3");
    shares("CPUs", "1 1 2", "");
    shares("one rank", "1a", "");

    ok(cud_cpus_quota("max 100000") == 0, "no quota");
    ok(cud_cpus_quota("250000 100000") == 2.5, "a quota of 2.5");
    ok(cud_cpus_quota("-1 100000") == 0, "no quota in version 1");
    ok(cud_cpus_quota("") == 0, "no file");

    static struct cud_cpus mine;
    cud_cpus_look(&mine);
    const int n = cud_cpus_count(&mine);
    ok(n >= 1 && mine.quota >= 0, "this machine: %d CPUs, quota %g", n, mine.quota);
    return done_testing();
}
