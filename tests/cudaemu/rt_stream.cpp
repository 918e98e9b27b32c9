/* Streams (chapter 6.4): a queue each, and a thread that works it off. */
#include <atomic>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include "rt.h"

namespace emu {

static auto &streams = *new std::map<cudaStream_t, stream_ref>;

/* So long that a missing wait shows: before each piece of work, other for each thread. */
static void delay()
{
    static const u64 most = setting("CUDAEMU_DELAY_US", 0);
    static std::atomic<unsigned> threads{1};
    static thread_local unsigned seed = 0;
    if (!most)
        return;
    if (!seed)
        seed = (unsigned)setting("CUDAEMU_SEED", 1) * 2654435761u + 40503u * threads++;
    usleep((useconds_t)((u64)rand_r(&seed) % (most + 1)));
}

/* The next piece of work; none: the stream is over. */
static std::function<void()> take(stream *s)
{
    std::unique_lock<std::mutex> l(lock);
    s->wake.wait(l, [&] { return s->stop || !s->queue.empty(); });
    if (s->queue.empty())
        return nullptr;
    std::function<void()> work = std::move(s->queue.front());
    s->queue.pop_front();
    return work;
}

static void work_off(const stream_ref s)
{
    while (const std::function<void()> work = take(s.get())) {
        delay();
        work();
        {
            const guard l(lock);
            s->done++;
        }
        changed.notify_all();
    }
}

stream_ref make_stream(int device, bool blocking)
{
    auto s = std::make_shared<stream>();
    s->device = device;
    s->blocking = blocking;
    std::thread(work_off, s).detach();
    return s;
}

/* NULL, cudaStreamLegacy and cudaStreamPerThread are the default stream. */
static bool is_default(cudaStream_t h) { return (u64)h <= 2; }

stream_ref find_stream(cudaStream_t h)
{
    if (is_default(h))
        return devices()[current]->default_stream;
    const auto found = streams.find(h);
    return found == streams.end() ? nullptr : found->second;
}

void wait_for(const stream_ref &s, u64 number)
{
    std::unique_lock<std::mutex> l(lock);
    changed.wait(l, [&] { return s->done >= number; });
}

void drain(const stream_ref &s)
{
    u64 number;
    {
        const guard l(lock);
        number = s->queued;
    }
    wait_for(s, number);
}

/* "Stream synchronization behavior" (chapter 4): the default stream and the blocking ones wait for each other. */
static std::vector<std::pair<stream_ref, u64>> before(const stream_ref &s)
{
    std::vector<std::pair<stream_ref, u64>> others;
    const device &d = *devices()[s->device];
    const auto add = [&](const stream_ref &o) {
        if (o->blocking && o->done < o->queued)
            others.push_back({o, o->queued});
    };
    if (s == d.default_stream)
        for (const stream_ref &o : d.streams)
            add(o);
    else if (s->blocking)
        add(d.default_stream);
    return others;
}

u64 push(const stream_ref &s, std::function<void()> work)
{
    const guard l(lock);
    s->queue.push_back([others = before(s), work = std::move(work)] {
        for (const auto &[other, number] : others)
            wait_for(other, number);
        work();
    });
    s->wake.notify_one();
    return ++s->queued;
}

static cudaError_t create(cudaStream_t *h, unsigned flags, device *d)
{
    if (!h)
        return result(cudaErrorInvalidValue);
    const stream_ref s = make_stream(current, !(flags & cudaStreamNonBlocking));
    const guard l(lock);
    *h = (cudaStream_t)s.get();
    streams[*h] = s;
    d->streams.insert(s);
    return result(cudaSuccess);
}

/* The stream, or NULL with *e. */
static stream_ref find_or(cudaStream_t h, cudaError_t *e)
{
    const guard l(lock);
    const stream_ref s = find_stream(h);
    *e = s ? cudaSuccess : result(cudaErrorInvalidResourceHandle);
    return s;
}

}

using namespace emu;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t *h)
{
    ENTER(d);
    return create(h, 0, d);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *h, unsigned flags)
{
    ENTER(d);
    return create(h, flags, d);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *h, unsigned flags, int)
{
    ENTER(d);
    return create(h, flags, d);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER_ANY();
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return result(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t h)
{
    ENTER_ANY();
    cudaError_t e;
    const stream_ref s = devices().empty() || is_default(h) ? nullptr : find_or(h, &e);
    if (!s)
        return result(cudaErrorInvalidResourceHandle);
    drain(s);
    const guard l(lock);
    streams.erase(h);
    devices()[s->device]->streams.erase(s);
    s->stop = true;
    s->wake.notify_all();
    return result(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t h)
{
    ENTER(d);
    cudaError_t e;
    const stream_ref s = find_or(h, &e);
    if (!s)
        return e;
    drain(s);
    const guard l(lock);
    return result(devices()[s->device]->sticky);
}

cudaError_t cudaStreamQuery(cudaStream_t h)
{
    ENTER(d);
    const guard l(lock);
    const stream_ref s = find_stream(h);
    if (!s)
        return result(cudaErrorInvalidResourceHandle);
    const cudaError_t sticky = devices()[s->device]->sticky;
    return sticky ? result(sticky) : s->done >= s->queued ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t h, cudaHostFn_t f, void *data)
{
    ENTER(d);
    cudaError_t e;
    if (const stream_ref s = find_or(h, &e))
        push(s, [=] { f(data); });
    return e;
}

cudaError_t cudaStreamAddCallback(cudaStream_t h, cudaStreamCallback_t f, void *data, unsigned)
{
    ENTER(d);
    cudaError_t e;
    if (const stream_ref s = find_or(h, &e))
        push(s, [=] { f(h, cudaSuccess, data); });
    return e;
}

}
