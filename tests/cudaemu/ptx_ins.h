/* An instruction as it is executed.  Every register, constant and special register of a thread is a slot of 64 bits; operands
 * are numbers of slots. */
#ifndef CUDAEMU_PTX_INS_H
#define CUDAEMU_PTX_INS_H

#include <cstdint>
#include <string>

namespace ptx {

/* Section 5.1; CALL: the .param variables of a function that is called. */
enum space { GENERIC, GLOBAL, SHARED, LOCAL, CONSTANT, PARAM, CALL };

/* What the thread does after an instruction. */
enum outcome { NEXT, EXIT, AT_BARRIER, AT_WARP };

struct thread;
struct ins;
using action = int (*)(thread &, uint64_t *slots, const ins &);

struct ins {
    action run = nullptr;
    int guard = -1;                       /* the predicate of @p or @!p (section 9.3) */
    bool guard_not = false, saturate = false;
    int d = -1, p = -1;                   /* destinations, as in setp's d|p */
    int a = -1, b = -1, c = -1, e = -1;   /* sources */
    int v[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, width = 1;   /* a vector's elements */
    int64_t offset = 0;                   /* of an address */
    int what = 0, how = 0, mode = 0;      /* what these mean is for each group of instructions to say */
    int target = -1;
    int line = 0;                         /* of the PTX */
    std::string text;
};

}
#endif
