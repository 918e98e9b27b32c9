/* Runs a launch.  A thread runs until it must wait, ends or has had its turn; then the next one of its warp, then the next warp.
 * Warps and barriers let go of their threads when all that they wait for have come. */
#include <algorithm>
#include "ptx_thread.h"
#include "ptx_warp.h"

namespace ptx {

enum { NO_IMAGE = 209, TIMEOUT = 702, LAUNCH_FAILURE = 719 };     /* of cudaError_t */
constexpr u64 TURN = 200000;              /* instructions: one that spins on another's flag lets it go on */

static std::string where(const block &b, const thread &t, const ins *i)
{
    char text[300];
    snprintf(text, sizeof text, " [kernel %s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %d: %s]", b.k->name.c_str(), b.number[0],
             b.number[1], b.number[2], t.id[0], t.id[1], t.id[2], i ? i->line : 0, i ? i->text.c_str() : "");
    return text;
}

/* The instructions it ran. */
static u64 turn(block &b, thread &t)
{
    const ins *const code = b.k->code.data(), *now = nullptr;
    u64 count = 0;
    try {
        while (count < TURN) {
            now = &code[t.pc++];
            count++;
            if (now->guard >= 0 && (t.slots[now->guard] != 0) == now->guard_not)
                continue;
            const int state = now->run(t, t.slots, *now);
            if (state != NEXT) {
                t.state = state;
                t.at = now;
                break;
            }
        }
    } catch (fault &f) {
        f.text += where(b, t, now);
        throw;
    }
    return count;
}

/* Lets go of the lanes that wait with lane l at its instruction, if they are all there. */
static bool meet(block &b, thread *warp, u32 lanes, u32 live, u32 l)
{
    const ins &i = *warp[l].at;
    const u32 members = warp_members(warp[l], i);
    if (!(members >> l & 1))
        fail(LAUNCH_FAILURE, "a lane that the member mask leaves out" + where(b, warp[l], &i));
    const u32 need = members & live;
    for (u32 n = 0; n < lanes; n++)
        if (need >> n & 1 && (warp[n].state != AT_WARP || warp[n].at != &i))
            return false;
    warp_meet(warp, need, i);
    for (u32 n = 0; n < lanes; n++)
        if (need >> n & 1)
            warp[n].state = NEXT;
    return true;
}

/* The same for all lanes of a warp. */
static bool meets(block &b, size_t first)
{
    thread *const warp = &b.threads[first];
    const u32 lanes = u32(std::min<size_t>(32, b.threads.size() - first));
    bool progress = false;
    u32 live = 0;
    for (u32 l = 0; l < lanes; l++)
        live |= u32(warp[l].state != EXIT) << l;
    for (u32 l = 0; l < lanes; l++)
        if (warp[l].state == AT_WARP)
            progress |= meet(b, warp, lanes, live, l);
    return progress;
}

/* bar.red's what: the number of threads whose predicate holds, whether all do, whether one does. */
static void release(const std::vector<thread *> &there)
{
    const ins &i = *there[0]->at;
    size_t yes = 0;
    for (thread *t : there)
        yes += i.what && (t->slots[i.c] != 0) != (i.mode != 0);
    for (thread *t : there) {
        if (i.what)
            t->slots[i.d] = i.what == 1 ? yes : i.what == 2 ? yes == there.size() : yes != 0;
        t->state = NEXT;
    }
}

/* Barriers are numbered; one waits for all threads that live, or for as many as it says. */
static bool barriers(block &b, size_t live)
{
    std::map<u32, std::vector<thread *>> waiting;
    for (thread &t : b.threads)
        if (t.state == AT_BARRIER)
            waiting[u32(t.slots[t.at->a])].push_back(&t);
    bool progress = false;
    for (const auto &[number, there] : waiting) {
        const ins &i = *there[0]->at;
        if (there.size() >= (i.b >= 0 ? u32(there[0]->slots[i.b]) : live)) {
            release(there);
            progress = true;
        }
    }
    return progress;
}

static size_t living(const block &b)
{
    return size_t(std::count_if(b.threads.begin(), b.threads.end(), [](const thread &t) { return t.state != EXIT; }));
}

/* Gives each thread of a warp its turn, and again when they have met, up to a barrier: one warp is as far ahead of another as it
 * can be, so that a barrier that is missing between them shows. */
static bool run_warp(block &b, size_t first, u64 &count)
{
    const size_t lanes = std::min<size_t>(32, b.threads.size() - first);
    bool progress = false;
    do {
        for (size_t q = 0; q < lanes; q++) {
            thread &t = b.threads[first + (b.l->reverse ? lanes - 1 - q : q)];
            if (t.state != NEXT)
                continue;
            progress = true;
            count += turn(b, t);
            if (b.l->most_instructions && count > b.l->most_instructions)
                fail(TIMEOUT, "more instructions than CUDAEMU_MAX_INS: does it ever end?" + where(b, t, nullptr));
        }
    } while (meets(b, first));
    return progress;
}

static void run_block(block &b, u64 &count)
{
    const size_t warps = (b.threads.size() + 31) / 32;
    for (size_t live = b.threads.size(); live; live = living(b)) {
        bool progress = false;
        for (size_t w = 0; w < warps; w++)
            progress |= run_warp(b, 32 * (b.l->reverse ? warps - 1 - w : w), count);
        progress |= barriers(b, living(b));
        if (!progress && living(b))
            fail(LAUNCH_FAILURE, "deadlock: threads of kernel " + b.k->name + " wait at different barriers or warp instructions");
    }
}

/* Section 10; the order is that of special_register. */
static u64 special_value(const block &b, const thread &t, int number)
{
    const u32 lane = t.linear & 31, threads = u32(b.threads.size());
    if (number < 12) {
        const u32 *const from[] = {t.id, b.l->block, b.number, b.l->grid};
        return from[number / 3][number % 3];
    }
    const u64 more[] = {lane, t.linear / 32, (threads + 31) / 32, 1u << lane, u32((2ull << lane) - 1), (1u << lane) - 1,
                        u32(~((1u << lane) - 1)), u32(~((2ull << lane) - 1)), 0, 1, 0, b.l->dynamic_bytes, b.shared.size()};
    return more[number - 12];
}

static void start(block &b, thread &t, u32 linear, u64 dynamic)
{
    const kernel &k = *b.k;
    t.pc = 0;
    t.state = NEXT;
    t.carry = 0;
    t.b = &b;
    t.linear = linear;
    t.id[0] = linear % b.l->block[0];
    t.id[1] = linear / b.l->block[0] % b.l->block[1];
    t.id[2] = linear / (b.l->block[0] * b.l->block[1]);
    memcpy(t.slots, k.slots.data(), k.slots.size() * sizeof(u64));
    for (int s : k.dynamic)
        t.slots[s] = dynamic;
    for (const special &s : k.specials)
        t.slots[s.slot] = special_value(b, t, s.number);
}

void run(const launch &l)
{
    const kernel &k = *l.k;
    if (!k.error.empty())
        fail(NO_IMAGE, "kernel " + k.name + ": " + k.error);
    const size_t n = size_t(l.block[0]) * l.block[1] * l.block[2], local = (k.local_bytes + 15) / 16 * 16;
    const size_t dynamic = (k.shared_bytes + 15) / 16 * 16;
    std::vector<u64> slots(n * k.slots.size() + 1);
    std::vector<u8> locals(n * local + 1);
    block b{&l, &k, std::vector<u8>(dynamic + l.dynamic_bytes), std::vector<thread>(n), {}};
    for (size_t q = 0; q < n; q++) {
        b.threads[q].slots = &slots[q * k.slots.size()];
        b.threads[q].local = &locals[q * local];
    }
    u64 count = 0;
    for (b.number[2] = 0; b.number[2] < l.grid[2]; b.number[2]++)
        for (b.number[1] = 0; b.number[1] < l.grid[1]; b.number[1]++)
            for (b.number[0] = 0; b.number[0] < l.grid[0]; b.number[0]++) {
                std::fill(b.shared.begin(), b.shared.end(), 0xa5);    /* what was never written is odd */
                for (size_t q = 0; q < n; q++)
                    start(b, b.threads[q], u32(q), dynamic);
                run_block(b, count);
            }
}

}
