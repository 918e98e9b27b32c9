/* What a program brings along: images, functions and variables, as nvcc's host code registers them before main(), and symbols
 * (chapters 6.8 and 6.11). */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include "fatbin.h"
#include "rt.h"

namespace emu {

struct symbol {
    image *from;
    std::string name;
};
static auto &functions = *new std::map<const void *, function>;
static auto &symbols = *new std::map<const void *, symbol>;
static auto &images = *new std::set<image *>;

const std::vector<ptx::module> &modules_of(image *i, int number)
{
    std::vector<ptx::module> &modules = i->modules[number];
    images.insert(i);
    if (modules.empty())
        for (const std::string &text : i->texts)
            modules.push_back(ptx::read(text, [number](const std::vector<u8> &contents) {
                const u64 address = allocate(devices()[number].get(), contents.size());
                if (!address)
                    throw std::runtime_error("no memory for a variable");
                memcpy(for_host(address), contents.data(), contents.size());
                return address;
            }));
    return modules;
}

function *find_function(const void *handle)
{
    const auto found = functions.find(handle);
    return found != functions.end() ? &found->second : find_library_function(handle);
}

const ptx::kernel *find_kernel(const function *f, int number)
{
    for (const ptx::module &m : modules_of(f->from, number)) {
        const auto found = m.kernels.find(f->name);
        if (found != m.kernels.end())
            return &found->second;
    }
    return nullptr;
}

const ptx::variable *find_variable(image *i, const std::string &name, int number)
{
    for (const ptx::module &m : modules_of(i, number))
        for (const ptx::variable &v : m.variables)
            if (v.name == name)
                return &v;
    return nullptr;
}

void forget_modules(int number)
{
    for (image *i : images)
        i->modules.erase(number);
}

void free_variables(image *i)
{
    for (const auto &[number, modules] : i->modules)
        for (const ptx::module &m : modules)
            for (const ptx::variable &v : m.variables)
                release(v.address);
    images.erase(i);
}

/* The device address of a __device__ or __constant__ variable, or 0. */
static u64 address_of(const void *handle, size_t *bytes)
{
    const guard l(lock);
    const auto found = symbols.find(handle);
    const ptx::variable *const v =
        found == symbols.end() ? nullptr : find_variable(found->second.from, found->second.name, current);
    if (v && bytes)
        *bytes = v->bytes;
    return v ? v->address : 0;
}

static int newest = 75;

int architecture() { return newest; }

/* Of a PTX text: 75 of "sm_75" (PTX ISA, ".target"). */
static int target_of(const std::string &text)
{
    const size_t at = text.find(".target sm_");
    return at == std::string::npos ? 0 : atoi(text.c_str() + at + strlen(".target sm_"));
}

/* CUDAEMU_PTX: what nvcc made, for people and tests. */
static void keep(const std::string &text)
{
    const char *const path = getenv("CUDAEMU_PTX");
    FILE *const f = path && *path ? fopen(path, "a") : nullptr;
    if (f && (fputs(text.c_str(), f) < 0 || fclose(f) != 0))
        perror(path);
}

}

using namespace emu;

extern "C" {

/* Called by code that nvcc makes; "crt/host_runtime.h" declares them. */
void **__cudaRegisterFatBinary(void *wrapper)
{
    struct {
        int magic, version;
        const void *data;
        void *more;
    } w;
    memcpy(&w, wrapper, sizeof w);
    auto *const i = new image;
    std::string why = "not a fat binary";
    const std::string text = is_fatbin(w.data) ? newest_ptx(w.data, &why) : "";
    if (text.empty())
        fprintf(stderr, "cudaemu: %s\n", why.c_str());
    else
        i->texts.push_back(text);
    newest = std::max(newest, target_of(text));
    keep(text);
    return (void **)i;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }

void __cudaRegisterFunction(void **i, const char *stub, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *)
{
    functions[stub] = {(image *)i, name};
}

void __cudaRegisterVar(void **i, char *variable, char *, const char *name, int, size_t, int, int)
{
    symbols[variable] = {(image *)i, name};
}

cudaError_t cudaGetSymbolAddress(void **p, const void *symbol)
{
    ENTER(d);
    *p = (void *)address_of(symbol, nullptr);
    return result(*p ? cudaSuccess : cudaErrorInvalidSymbol);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    ENTER(d);
    return result(address_of(symbol, bytes) ? cudaSuccess : cudaErrorInvalidSymbol);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    ENTER(d);
    const u64 to = address_of(symbol, nullptr);
    return to ? copy({to + offset, (u64)from, bytes, 1, bytes, bytes, kind}, nullptr, false) : result(cudaErrorInvalidSymbol);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    ENTER(d);
    const u64 from = address_of(symbol, nullptr);
    return from ? copy({(u64)to, from + offset, bytes, 1, bytes, bytes, kind}, nullptr, false) : result(cudaErrorInvalidSymbol);
}

}
