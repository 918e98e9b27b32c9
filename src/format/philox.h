/* Philox4x32-10, a generator without a state: block n of a key is a function of both. */
#ifndef CUD_PHILOX_H
#define CUD_PHILOX_H

#include <stdint.h>

#define CUD_PHILOX_BLOCKS 256              /* blocks a call */

/* The blocks of counter, counter + 1, ... (carried through counter[0] and [1] only), four words each. */
void cud_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4 * CUD_PHILOX_BLOCKS]);

#endif
