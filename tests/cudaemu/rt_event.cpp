/* Events (chapter 6.5): a place in a stream's queue. */
#include <chrono>
#include "rt.h"

namespace emu {

struct record {
    stream_ref s;
    std::atomic<u64> number{0};
    std::atomic<double> seconds{0};
};
struct event {
    unsigned flags;
    std::shared_ptr<record> r;            /* of the last cudaEventRecord; NULL: none yet, so it is complete */
};
static auto &events = *new std::set<event *>;

/* Locked. */
static event *find(cudaEvent_t e)
{
    const auto found = events.find((event *)e);
    return found == events.end() ? nullptr : *found;
}

static bool complete(const record &r) { return r.s->done >= r.number; }

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* Locked: of the event's device. */
static cudaError_t sticky_of(const record &r) { return devices()[r.s->device]->sticky; }

static cudaError_t create(cudaEvent_t *e, unsigned flags)
{
    if (!e)
        return result(cudaErrorInvalidValue);
    auto *const v = new event{flags, nullptr};
    const guard l(lock);
    events.insert(v);
    *e = (cudaEvent_t)v;
    return result(cudaSuccess);
}

static cudaError_t record_event(cudaEvent_t e, cudaStream_t h)
{
    auto r = std::make_shared<record>();
    {
        const guard l(lock);
        r->s = find_stream(h);
        if (!find(e) || !r->s)
            return result(cudaErrorInvalidResourceHandle);
    }
    r->number = push(r->s, [r] { r->seconds = now(); });
    const guard l(lock);
    if (event *const v = find(e))
        v->r = r;
    return result(cudaSuccess);
}

}

using namespace emu;

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    ENTER(d);
    return create(e, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    ENTER(d);
    return create(e, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    ENTER_ANY();
    const guard l(lock);
    event *const v = find(e);
    if (!v)
        return result(cudaErrorInvalidResourceHandle);
    events.erase(v);
    delete v;
    return result(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t h)
{
    ENTER(d);
    return record_event(e, h);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t h, unsigned)
{
    ENTER(d);
    return record_event(e, h);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t h, cudaEvent_t e, unsigned)
{
    ENTER(d);
    stream_ref s;
    std::shared_ptr<record> r;
    {
        const guard l(lock);
        const event *const v = find(e);
        s = find_stream(h);
        if (!v || !s)
            return result(cudaErrorInvalidResourceHandle);
        r = v->r;
    }
    if (r)
        push(s, [r] { wait_for(r->s, r->number); });
    return result(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    ENTER(d);
    std::shared_ptr<record> r;
    {
        const guard l(lock);
        const event *const v = find(e);
        if (!v)
            return result(cudaErrorInvalidResourceHandle);
        r = v->r;
    }
    if (!r)
        return result(cudaSuccess);
    wait_for(r->s, r->number);
    const guard l(lock);
    return result(sticky_of(*r));
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    ENTER(d);
    const guard l(lock);
    const event *const v = find(e);
    if (!v)
        return result(cudaErrorInvalidResourceHandle);
    if (!v->r)
        return cudaSuccess;
    const cudaError_t sticky = sticky_of(*v->r);
    return sticky ? result(sticky) : complete(*v->r) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    ENTER(d);
    const guard l(lock);
    const event *const a = find(from), *const b = find(to);
    if (!a || !b || !a->r || !b->r || (a->flags | b->flags) & cudaEventDisableTiming)
        return result(cudaErrorInvalidResourceHandle);
    if (!complete(*a->r) || !complete(*b->r))
        return cudaErrorNotReady;
    *ms = (float)((b->r->seconds - a->r->seconds) * 1e3);
    return result(cudaSuccess);
}

}
