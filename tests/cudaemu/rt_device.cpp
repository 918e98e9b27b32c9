/* Devices: how many, what they are, the current one (chapter 6.1); peers (6.14) and versions (6.26). */
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include "rt.h"

namespace emu {

thread_local int current = 0;

static void uuid_of(int physical, unsigned char bytes[16])
{
    static const unsigned char all[16] = {0xc0, 0xda, 0xe0, 0x00, 0x1d, 0xea, 0x4b, 0xad, 0x8f, 0x00, 0xd1, 0xce, 0, 0, 0, 1};
    memcpy(bytes, all, 16);
    bytes[3] = (unsigned char)physical;
}

static std::string uuid_text(int physical)
{
    unsigned char bytes[16];
    std::string text = "GPU-";
    uuid_of(physical, bytes);
    for (int n = 0; n < 16; n++) {
        char part[4];
        snprintf(part, sizeof part, "%s%02x", n == 4 || n == 6 || n == 8 || n == 10 ? "-" : "", bytes[n]);
        text += part;
    }
    return text;
}

/* The number that an entry of CUDA_VISIBLE_DEVICES means: a number, or the beginning of a UUID; -1 for none. */
static int visible(const std::string &entry, int devices)
{
    for (int n = 0; n < devices; n++)
        if (entry == std::to_string(n) || (entry.size() > 4 && uuid_text(n).rfind(entry, 0) == 0))
            return n;
    return -1;
}

/* Those before the first invalid entry of CUDA_VISIBLE_DEVICES, as "CUDA Environment Variables" in the programming guide says. */
static std::vector<int> physical_devices()
{
    const int all = (int)setting("CUDAEMU_DEVICES", 1);
    const char *const list = getenv("CUDA_VISIBLE_DEVICES");
    std::vector<int> found;
    if (!list) {
        for (int n = 0; n < all; n++)
            found.push_back(n);
        return found;
    }
    for (std::string rest = list; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const int n = visible(rest.substr(0, comma), all);
        if (n < 0)
            break;
        found.push_back(n);
        rest.erase(0, comma + 1);
    }
    return found;
}

static std::unique_ptr<device> make_device(int number, int physical)
{
    auto d = std::make_unique<device>();
    d->number = number;
    d->physical = physical;
    d->total = setting("CUDAEMU_MEM_MB", 2048) << 20;
    d->fd = memfd_create("cudaemu", MFD_CLOEXEC);
    void *base = MAP_FAILED, *host = MAP_FAILED;
    if (d->fd >= 0 && ftruncate(d->fd, WINDOW) == 0) {
        base = mmap(nullptr, WINDOW, PROT_NONE, MAP_SHARED | MAP_NORESERVE, d->fd, 0);
        host = mmap(nullptr, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, d->fd, 0);
    }
    if (base == MAP_FAILED || host == MAP_FAILED) {
        perror("cudaemu: no address space for a device");
        abort();
    }
    d->base = (u64)base;
    d->host = (u64)host;
    d->holes[d->base] = WINDOW;
    d->default_stream = make_stream(number, true);
    return d;
}

std::vector<std::unique_ptr<device>> &devices()
{
    static auto &all = *new std::vector<std::unique_ptr<device>>;
    static std::once_flag once;
    std::call_once(once, [] {
        int number = 0;
        for (int physical : physical_devices())
            all.push_back(make_device(number++, physical));
    });
    return all;
}

device *owner(u64 address)
{
    for (auto &d : devices())
        if (address >= d->base && address < d->base + WINDOW)
            return d.get();
    return nullptr;
}

cudaError_t synchronize(device *d)
{
    std::vector<stream_ref> all;
    {
        const guard l(lock);
        all.assign(d->streams.begin(), d->streams.end());
        all.push_back(d->default_stream);
    }
    for (const stream_ref &s : all)
        drain(s);
    const guard l(lock);
    return result(d->sticky);
}

void set_sticky(int number, int code, const std::string &text)
{
    const guard l(lock);
    device *const d = devices()[number].get();
    if (d->sticky != cudaSuccess)
        return;
    d->sticky = (cudaError_t)code;
    fprintf(stderr, "cudaemu: device %d: error %d: %s\n", number, code, text.c_str());
}

static bool exists(int d) { return d >= 0 && d < (int)devices().size(); }

}

using namespace emu;

extern "C" {

cudaError_t cudaGetDeviceCount(int *count)
{
    ENTER_ANY();
    if (devices().empty())
        return result(cudaErrorNoDevice);
    *count = (int)devices().size();
    return result(cudaSuccess);
}

cudaError_t cudaSetDevice(int d)
{
    ENTER_ANY();
    if (!exists(d))
        return result(devices().empty() ? cudaErrorNoDevice : cudaErrorInvalidDevice);
    current = d;
    return result(cudaSuccess);
}

cudaError_t cudaInitDevice(int d, unsigned, unsigned)
{
    ENTER_ANY();
    return result(exists(d) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    ENTER_ANY();
    return result(cudaSuccess);
}

cudaError_t cudaGetDevice(int *d)
{
    ENTER_ANY();
    *d = current;
    return result(devices().empty() ? cudaErrorNoDevice : cudaSuccess);
}

/* A small card, of the compute capability that the program is built for. */
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int number)
{
    ENTER_ANY();
    if (!exists(number))
        return result(cudaErrorInvalidDevice);
    const device &d = *devices()[number];
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "cudaemu CPU device");
    uuid_of(d.physical, (unsigned char *)p->uuid.bytes);
    p->totalGlobalMem = d.total;
    p->major = architecture() / 10;
    p->minor = architecture() % 10;
    p->warpSize = 32;
    p->maxThreadsPerBlock = p->maxThreadsPerMultiProcessor = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->sharedMemPerBlock = 49152;
    p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = 98304;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->totalConstMem = 65536;
    p->multiProcessorCount = 4;
    p->asyncEngineCount = 2;
    p->concurrentKernels = p->canMapHostMemory = p->unifiedAddressing = 1;
    p->pciBusID = d.physical + 1;
    p->memPitch = 0x7fffffff;
    p->textureAlignment = 512;
    return result(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr a, int number)
{
    static const std::map<int, int> values = {
        {cudaDevAttrMaxThreadsPerBlock, 1024}, {cudaDevAttrMaxBlockDimX, 1024}, {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64}, {cudaDevAttrMaxGridDimX, 0x7fffffff}, {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535}, {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, 98304}, {cudaDevAttrWarpSize, 32}, {cudaDevAttrMultiProcessorCount, 4},
        {cudaDevAttrComputeCapabilityMajor, architecture() / 10}, {cudaDevAttrComputeCapabilityMinor, architecture() % 10},
        {cudaDevAttrAsyncEngineCount, 2},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 1024}, {cudaDevAttrClockRate, 1000000}, {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrConcurrentKernels, 1}, {cudaDevAttrCanMapHostMemory, 1}, {cudaDevAttrHostRegisterSupported, 1}};
    ENTER_ANY();
    if (!exists(number))
        return result(cudaErrorInvalidDevice);
    *value = a == cudaDevAttrPciBusId ? devices()[number]->physical + 1 : values.count(a) ? values.at(a) : 0;
    return result(cudaSuccess);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int number)
{
    ENTER_ANY();
    if (!exists(number))
        return result(cudaErrorInvalidDevice);
    snprintf(text, (size_t)bytes, "0000:%02x:00.0", devices()[number]->physical + 1);
    return result(cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    ENTER(d);
    return synchronize(d);
}

cudaError_t cudaDeviceReset(void)
{
    ENTER_ANY();
    if (devices().empty())
        return result(cudaErrorNoDevice);
    device *const d = devices()[current].get();
    synchronize(d);
    const guard l(lock);
    while (!d->allocations.empty())
        release(d->allocations.begin()->first);
    forget_modules(current);
    d->sticky = cudaSuccess;
    forget_error();
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int a, int b)
{
    ENTER_ANY();
    if (!exists(a) || !exists(b))
        return result(cudaErrorInvalidDevice);
    *can = a != b;
    return result(cudaSuccess);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned)
{
    ENTER(d);
    if (!exists(peer) || peer == current)
        return result(cudaErrorInvalidDevice);
    const guard l(lock);
    return result(d->peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    ENTER(d);
    const guard l(lock);
    return result(d->peers.erase(peer) ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    ENTER_ANY();
    *version = CUDART_VERSION;
    return result(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    ENTER_ANY();
    *version = CUDART_VERSION;
    return result(cudaSuccess);
}

cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

}
