/* PTX on a CPU: read() makes a module of the text that nvcc or NVRTC wrote, run() executes one launch of one of its kernels.
 *
 * The sections cited in these files are those of NVIDIA's "PTX ISA", version 9.0. */
#ifndef CUDAEMU_PTX_H
#define CUDAEMU_PTX_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>
#include "ptx_ins.h"

namespace ptx {

/* Thrown by run(): what a kernel did wrong; code is a cudaError_t. */
struct fault {
    int code;
    std::string text;
};

/* What kernels may touch: device addresses from lo to hi are host addresses that are larger by delta. */
struct range {
    uint64_t lo, hi;
    int64_t delta;
};

struct param {
    std::string name;
    size_t offset, bytes;
};

struct variable {
    std::string name;
    uint64_t address;
    size_t bytes;
};

/* A special register (section 10), and the slot that holds it. */
struct special {
    int number, slot;
};

struct kernel {
    std::string name;
    std::string error;                    /* not empty: what in it is unknown here; it cannot be launched */
    std::vector<param> params;
    size_t param_bytes = 0, shared_bytes = 0, local_bytes = 0;
    unsigned max_threads = 0;             /* of .maxntid or .reqntid; 0: not said */
    std::vector<ins> code;
    std::vector<uint64_t> slots;          /* of one thread at its start: registers and constants alike */
    std::vector<special> specials;
    std::vector<int> dynamic;             /* slots for the address of the dynamic shared memory */
};

struct module {
    std::vector<variable> variables;
    std::map<std::string, kernel> kernels;
};

/* Puts a variable of the module, with its first contents, into a device's memory; its address. */
using placer = std::function<uint64_t(const std::vector<uint8_t> &contents)>;

/* Throws std::runtime_error for text that cannot be a module.  What is unknown within a kernel is that kernel's error. */
module read(const std::string &text, const placer &place);

struct launch {
    const kernel *k = nullptr;
    uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    size_t dynamic_bytes = 0;
    std::vector<uint8_t> params;
    std::vector<range> ranges;
    uint64_t most_instructions = 0;       /* 0: no limit */
    bool reverse = false;                 /* the threads of a block run last to first */
};

/* Blocks run one after the other; threads of a block run as far as they can, in order.  Throws fault. */
void run(const launch &l);

}
#endif
