/* shfl, vote, redux, match, bar.warp (sections 9.7.9.6, 9.7.13.9 to 12). */
#include <algorithm>
#include "ptx_reader.h"
#include "ptx_warp.h"

namespace ptx {

/* what: the instruction; e: its member mask. */
enum { SYNC, SHUFFLE, VOTE, REDUCE, MATCH };
enum { UP, DOWN, BUTTERFLY, INDEX };
enum { BALLOT, ANY, ALL, UNIFORM };
enum { ADD, MIN, MAX, AND, OR, XOR };

struct meeting {
    thread *warp;
    u32 mask;
    u64 in[32];                           /* the lanes' source operand a */
    bool has(int lane) const { return mask >> lane & 1; }
};

/* The pseudocode of shfl.sync: the lane whose value lane l gets; *within: is it within the segment? */
static int shuffle_source(int l, int b, u32 c, int how, bool *within)
{
    const int clamp = c & 31, segment = c >> 8 & 31, top = (l & segment) | (clamp & ~segment), bottom = l & segment;
    const int from = how == UP ? l - b : how == DOWN ? l + b : how == BUTTERFLY ? l ^ b : bottom | (b & ~segment);
    *within = how == UP ? from >= top : from <= top;
    return *within ? from : l;
}

/* A lane that is not there gives something odd on purpose. */
static void shuffle(const meeting &m, const ins &i)
{
    u32 out[32] = {};
    bool within[32] = {};
    for (int l = 0; l < 32; l++)
        if (m.has(l)) {
            const u64 *r = m.warp[l].slots;
            const int from = shuffle_source(l, int(r[i.b] & 31), u32(r[i.c]), i.how, &within[l]);
            out[l] = m.has(from) ? u32(m.in[from]) : 0xdeadbeef;
        }
    for (int l = 0; l < 32; l++)
        if (m.has(l)) {
            m.warp[l].slots[i.d] = out[l];
            if (i.p >= 0)
                m.warp[l].slots[i.p] = within[l];
        }
}

/* mode: of the negated predicate. */
static u64 vote(const meeting &m, const ins &i)
{
    u32 yes = 0;
    for (int l = 0; l < 32; l++)
        yes |= u32(m.has(l) && (m.in[l] != 0) != (i.mode != 0)) << l;
    return i.how == BALLOT ? yes : i.how == ANY ? yes != 0 : i.how == ALL ? yes == m.mask : yes == 0 || yes == m.mask;
}

static u32 reduced(u32 x, u32 y, const ins &i)
{
    switch (i.how) {
    case ADD: return x + y;
    case MIN: return i.mode ? u32(std::min(s32(x), s32(y))) : std::min(x, y);
    case MAX: return i.mode ? u32(std::max(s32(x), s32(y))) : std::max(x, y);
    case AND: return x & y;
    case OR: return x | y;
    default: return x ^ y;
    }
}
/* mode: signed. */
static u64 reduce(const meeting &m, const ins &i)
{
    const int first = __builtin_ctz(m.mask);
    u32 x = u32(m.in[first]);
    for (int l = first + 1; l < 32; l++)
        if (m.has(l))
            x = reduced(x, u32(m.in[l]), i);
    return x;
}

/* mode: bytes of the value; how: match.all rather than match.any. */
static void match(const meeting &m, const ins &i)
{
    for (int l = 0; l < 32; l++) {
        if (!m.has(l))
            continue;
        u32 equal = 0;
        for (int n = 0; n < 32; n++)
            equal |= u32(m.has(n) && (i.mode == 8 ? m.in[n] == m.in[l] : u32(m.in[n]) == u32(m.in[l]))) << n;
        u64 *const r = m.warp[l].slots;
        r[i.d] = i.how && equal != m.mask ? 0 : equal;
        if (i.p >= 0)
            r[i.p] = equal == m.mask;
    }
}

u32 warp_members(const thread &t, const ins &i) { return u32(t.slots[i.e]); }

void warp_meet(thread *warp, u32 mask, const ins &i)
{
    meeting m{warp, mask, {}};
    for (int l = 0; l < 32; l++)
        if (m.has(l) && i.a >= 0)
            m.in[l] = warp[l].slots[i.a];
    if (i.what == SHUFFLE)
        shuffle(m, i);
    else if (i.what == MATCH)
        match(m, i);
    else if (i.what != SYNC) {
        const u64 all = i.what == VOTE ? vote(m, i) : reduce(m, i);
        for (int l = 0; l < 32; l++)
            if (m.has(l))
                warp[l].slots[i.d] = all;
    }
}

static int wait_for_warp(thread &, u64 *, const ins &) { return AT_WARP; }
static int active_mask(thread &t, u64 *r, const ins &i)
{
    r[i.d] = 1u << (t.linear & 31);       /* threads run one by one */
    return NEXT;
}

static int which(const statement &x, std::initializer_list<const char *> names)
{
    int n = 0;
    for (const char *name : names) {
        if (x.has(name))
            return n;
        n++;
    }
    throw std::runtime_error(x.op + ": unknown kind");
}

static void read_vote(reader &r, const statement &x, ins &i)
{
    i.what = VOTE;
    i.how = which(x, {"ballot", "any", "all", "uni"});
    i.d = r.result(x.arg(0));
    r.predicate(x.arg(1), i.a, i.mode);
    i.e = r.operand(x.arg(2));
}

bool read_warp(reader &r, const statement &x, ins &i)
{
    if (x.op == "activemask") {
        i.d = r.result(x.arg(0));
        i.run = active_mask;
        return true;
    }
    if ((x.op == "bar" || x.op == "barrier") && x.has("warp")) {
        i.what = SYNC;
        i.e = r.operand(x.arg(0));
    } else if (x.op == "shfl") {
        i.what = SHUFFLE;
        i.how = which(x, {"up", "down", "bfly", "idx"});
        r.operands(x, i, 4);
    } else if (x.op == "vote")
        read_vote(r, x, i);
    else if (x.op == "redux" || x.op == "match") {
        r.results(x.arg(0), i);
        i.a = r.operand(x.arg(1));
        i.e = r.operand(x.arg(2));
        i.what = x.op == "match" ? MATCH : REDUCE;
        i.how = x.op == "match" ? which(x, {"any", "all"}) : which(x, {"add", "min", "max", "and", "or", "xor"});
        i.mode = x.op == "match" ? int(bytes_of(x.last())) : x.last() == S32;
        if (x.last() > S64)
            return true;
    } else
        return false;
    i.run = wait_for_warp;
    return true;
}

}
