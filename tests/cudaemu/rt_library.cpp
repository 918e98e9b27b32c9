/* Code that is loaded at run time (chapter 6.32): PTX as NVRTC makes it, or a fat binary with PTX in it. */
#include <cstdio>
#include "fatbin.h"
#include "rt.h"

namespace emu {

struct library {
    image code;
    std::map<std::string, function> functions;
};
static auto &libraries = *new std::set<library *>;

function *find_library_function(const void *handle)
{
    for (library *l : libraries)
        for (auto &[name, f] : l->functions)
            if (&f == handle)
                return &f;
    return nullptr;
}

static bool is_machine_code(const void *code) { return memcmp(code, "\177ELF", 4) == 0; }

static std::string ptx_of(const void *code)
{
    std::string why;
    if (is_fatbin(code))
        return newest_ptx(code, &why);
    return strstr((const char *)code, ".version") ? (const char *)code : "";
}

static cudaError_t load(cudaLibrary_t *handle, const void *code)
{
    if (!handle || !code)
        return cudaErrorInvalidValue;
    if (is_machine_code(code))
        return cudaErrorNoKernelImageForDevice;
    auto l = std::make_unique<library>();
    l->code.texts.push_back(ptx_of(code));
    if (l->code.texts[0].empty())
        return cudaErrorInvalidKernelImage;
    const guard g(lock);
    try {
        modules_of(&l->code, current);
    } catch (const std::exception &e) {
        fprintf(stderr, "cudaemu: PTX: %s\n", e.what());
        free_variables(&l->code);
        return cudaErrorInvalidPtx;
    }
    *handle = (cudaLibrary_t)l.get();
    libraries.insert(l.release());
    return cudaSuccess;
}

/* Locked. */
static cudaKernel_t handle_of(library *l, const std::string &name)
{
    l->functions.try_emplace(name, function{&l->code, name});
    return (cudaKernel_t)&l->functions.at(name);
}

}

using namespace emu;

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t *handle, const void *code, cudaJitOption *, void **, unsigned, cudaLibraryOption *,
                                void **, unsigned)
{
    ENTER(d);
    return result(load(handle, code));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *handle, const char *path, cudaJitOption *, void **, unsigned,
                                    cudaLibraryOption *, void **, unsigned)
{
    ENTER(d);
    FILE *const f = fopen(path, "rb");
    if (!f)
        return result(cudaErrorFileNotFound);
    std::string code;
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        code.append(part, n);
    fclose(f);
    code.append(8, 0);
    return result(load(handle, code.data()));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t handle)
{
    ENTER(d);
    library *const l = (library *)handle;
    synchronize(d);
    const guard g(lock);
    if (!libraries.erase(l))
        return result(cudaErrorInvalidResourceHandle);
    free_variables(&l->code);
    delete l;
    return result(cudaSuccess);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *k, cudaLibrary_t handle, const char *name)
{
    ENTER(d);
    library *const l = (library *)handle;
    const guard g(lock);
    if (!k || !name || !libraries.count(l))
        return result(cudaErrorInvalidResourceHandle);
    for (const ptx::module &m : modules_of(&l->code, current))
        if (m.kernels.count(name)) {
            *k = handle_of(l, name);
            return result(cudaSuccess);
        }
    return result(cudaErrorSymbolNotFound);
}

cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t handle)
{
    ENTER(d);
    library *const l = (library *)handle;
    const guard g(lock);
    if (!libraries.count(l))
        return result(cudaErrorInvalidResourceHandle);
    *count = 0;
    for (const ptx::module &m : modules_of(&l->code, current))
        *count += (unsigned)m.kernels.size();
    return result(cudaSuccess);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *to, unsigned most, cudaLibrary_t handle)
{
    ENTER(d);
    library *const l = (library *)handle;
    const guard g(lock);
    if (!libraries.count(l))
        return result(cudaErrorInvalidResourceHandle);
    unsigned n = 0;
    for (const ptx::module &m : modules_of(&l->code, current))
        for (const auto &[name, k] : m.kernels)
            if (n < most)
                to[n++] = handle_of(l, name);
    return result(cudaSuccess);
}

cudaError_t cudaLibraryGetGlobal(void **p, size_t *bytes, cudaLibrary_t handle, const char *name)
{
    ENTER(d);
    library *const l = (library *)handle;
    const guard g(lock);
    if (!libraries.count(l))
        return result(cudaErrorInvalidResourceHandle);
    const ptx::variable *const v = find_variable(&l->code, name, current);
    if (!v)
        return result(cudaErrorSymbolNotFound);
    if (p)
        *p = (void *)v->address;
    if (bytes)
        *bytes = v->bytes;
    return result(cudaSuccess);
}

}
