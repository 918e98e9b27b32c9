/* Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 3.3.  Checked against the known
 * answers of the authors' Random123. */
#include "philox.h"

#define LANES 16                           /* blocks side by side: enough for any vector */
#define ROUNDS 10

static void start(const uint32_t counter[4], uint64_t block, uint32_t c[4][LANES])
{
    uint64_t first = (counter[0] | (uint64_t)counter[1] << 32) + block;
    for (unsigned j = 0; j < LANES; j++) {
        c[0][j] = (uint32_t)(first + j);
        c[1][j] = (uint32_t)((first + j) >> 32);
        c[2][j] = counter[2];
        c[3][j] = counter[3];
    }
}

static void turn(uint32_t c[4][LANES], uint32_t k0, uint32_t k1)
{
    for (unsigned j = 0; j < LANES; j++) {
        uint64_t p = UINT64_C(0xD2511F53) * c[0][j], q = UINT64_C(0xCD9E8D57) * c[2][j];
        c[0][j] = (uint32_t)(q >> 32) ^ c[1][j] ^ k0;
        c[2][j] = (uint32_t)(p >> 32) ^ c[3][j] ^ k1;
        c[1][j] = (uint32_t)q;
        c[3][j] = (uint32_t)p;
    }
}

void cud_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4 * CUD_PHILOX_BLOCKS])
{
    for (unsigned block = 0; block < CUD_PHILOX_BLOCKS; block += LANES) {
        uint32_t c[4][LANES], k0 = key[0], k1 = key[1];
        start(counter, block, c);
        for (unsigned round = 0; round < ROUNDS; round++) {
            turn(c, k0, k1);
            k0 += 0x9E3779B9;
            k1 += 0xBB67AE85;
        }
        for (unsigned j = 0; j < LANES; j++)
            for (unsigned w = 0; w < 4; w++)
                words[4 * (block + j) + w] = c[w][j];
    }
}
