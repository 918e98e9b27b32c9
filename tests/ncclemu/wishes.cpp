/* Errors: what was said last, and those that NCCLEMU_FAIL and NCCLEMU_STALL ask for. */
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include "comm.h"
#include "cudaemu/wish.h"

namespace emu {

static std::mutex text_lock;
static std::string &last_text = *new std::string;

ncclResult_t warn(comm *c, ncclResult_t code, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (getenv("NCCL_DEBUG"))
        fprintf(stderr, "ncclemu: rank %d: NCCL WARN %s\n", c ? c->rank : -1, text);
    const guard l(text_lock);
    last_text = text;
    return code;
}

const char *last_warning(void)
{
    static thread_local std::string copy;
    const guard l(text_lock);
    copy = last_text;
    return copy.c_str();
}

void fail(comm *c, ncclResult_t code)
{
    const guard l(c->lock);
    if (c->state == ncclSuccess || c->state == ncclInProgress)
        c->state = code;
    c->changed.notify_all();
}

void wait_for_abort(comm *c)
{
    std::unique_lock<std::mutex> l(c->lock);
    c->changed.wait(l, [&] { return c->over; });
}

static int code_of(const std::string &text, const std::string &)
{
    static const std::map<std::string, int> names = {
        {"", ncclSystemError}, {"cuda", ncclUnhandledCudaError}, {"system", ncclSystemError}, {"internal", ncclInternalError},
        {"argument", ncclInvalidArgument}, {"usage", ncclInvalidUsage}, {"remote", ncclRemoteError}};
    return names.count(text) ? names.at(text) : atoi(text.c_str());
}

static int yes(const std::string &, const std::string &) { return 1; }

ncclResult_t wanted(const char *what)
{
    static wish_list &wishes = *new wish_list("NCCLEMU_FAIL", code_of);
    const int code = wishes.take(what);
    return code ? warn(nullptr, (ncclResult_t)code, "NCCLEMU_FAIL: %s", what) : ncclSuccess;
}

bool stalls(const char *what)
{
    static wish_list &wishes = *new wish_list("NCCLEMU_STALL", yes);
    return wishes.take(what) != 0;
}

void delay()
{
    const char *const most = getenv("CUDAEMU_DELAY_US"), *const seed = getenv("CUDAEMU_SEED");
    static thread_local unsigned state = (unsigned)(seed ? atoi(seed) : 1) * 2654435761u + 1;
    if (most)
        usleep((useconds_t)(rand_r(&state) % (atoi(most) + 1)));
}

}
