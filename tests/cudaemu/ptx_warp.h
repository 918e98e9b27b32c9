/* Instructions at which the threads of a warp meet. */
#ifndef CUDAEMU_PTX_WARP_H
#define CUDAEMU_PTX_WARP_H

#include "ptx_thread.h"

namespace ptx {

/* The lanes that instruction i, reached by thread t, waits for. */
u32 warp_members(const thread &t, const ins &i);
/* All lanes of mask are at i: does it. */
void warp_meet(thread *warp, u32 mask, const ins &i);

}
#endif
