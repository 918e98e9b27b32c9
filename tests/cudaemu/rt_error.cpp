/* Errors: the last one of a thread, their names, and those that CUDAEMU_FAIL asks for (chapter 6.3). */
#include <cstdio>
#include <cstdlib>
#include "rt.h"
#include "wish.h"

namespace emu {

std::mutex &lock = *new std::mutex;
std::condition_variable &changed = *new std::condition_variable;
static thread_local cudaError_t last = cudaSuccess;

u64 setting(const char *name, u64 otherwise)
{
    const char *const text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

cudaError_t result(cudaError_t e)
{
    if (e != cudaSuccess && e != cudaErrorNotReady)
        last = e;
    return e;
}

void forget_error() { last = cudaSuccess; }

static const struct {
    int code;
    const char *name, *text;
    bool sticky;                          /* "leaves the process in an inconsistent state" */
} errors[] = {
    {0, "cudaSuccess", "no error", false},
    {1, "cudaErrorInvalidValue", "invalid argument", false},
    {2, "cudaErrorMemoryAllocation", "out of memory", false},
    {3, "cudaErrorInitializationError", "initialization error", false},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument", false},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol", false},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy", false},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version", false},
    {46, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable", false},
    {52, "cudaErrorMissingConfiguration", "__global__ function call is not configured", false},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function", false},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected", false},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal", false},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid", false},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device", false},
    {214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered", true},
    {218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed", false},
    {301, "cudaErrorFileNotFound", "file not found", false},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle", false},
    {500, "cudaErrorSymbolNotFound", "named symbol not found", false},
    {600, "cudaErrorNotReady", "device not ready", false},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered", true},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch", false},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated", true},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled", false},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled", false},
    {710, "cudaErrorAssert", "device-side assert triggered", true},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped", false},
    {713, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region", false},
    {716, "cudaErrorMisalignedAddress", "misaligned address", true},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure", true},
    {801, "cudaErrorNotSupported", "operation not supported", false},
    {999, "cudaErrorUnknown", "unknown error", true},
};

static bool is_sticky(int code)
{
    for (const auto &e : errors)
        if (e.code == code)
            return e.sticky;
    return false;
}

/* ---- CUDAEMU_FAIL=call:n[+][:code][@rank],... */

static int code_of(const std::string &text, const std::string &call)
{
    static const std::map<std::string, int> names = {{"memory", 2}, {"ecc", 214}, {"launch", 719}, {"lost", 999}};
    if (text.empty())
        return call.find("lloc") != std::string::npos ? 2 : 719;
    if (names.count(text))
        return names.at(text);
    for (const auto &e : errors)
        if (text == e.name)
            return e.code;
    return atoi(text.c_str());
}

int injected_work(const char *what)
{
    static wish_list &wishes = *new wish_list("CUDAEMU_FAIL", code_of);
    return wishes.take(what);
}

cudaError_t injected(const char *call)
{
    const int code = injected_work(call);
    if (code && is_sticky(code) && current < (int)devices().size())
        set_sticky(current, code, std::string("CUDAEMU_FAIL: ") + call);
    return result((cudaError_t)code);
}

cudaError_t enter(const char *call, device **d)
{
    if (devices().empty())
        return result(cudaErrorNoDevice);
    if (const cudaError_t e = injected(call))
        return e;
    *d = devices()[current].get();
    const guard l(lock);
    return result((*d)->sticky);
}

}

using namespace emu;

extern "C" {

cudaError_t cudaGetLastError(void)
{
    const cudaError_t e = last;
    last = cudaSuccess;
    if (devices().empty())
        return e;
    const guard l(lock);
    const cudaError_t sticky = devices()[current]->sticky;
    return sticky ? sticky : e;
}

cudaError_t cudaPeekAtLastError(void) { return last; }

const char *cudaGetErrorName(cudaError_t e)
{
    for (const auto &known : errors)
        if (known.code == (int)e)
            return known.name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t e)
{
    for (const auto &known : errors)
        if (known.code == (int)e)
            return known.text;
    return "unrecognized error code";
}

}
