/* rows.h's words on a GPU. */
#define ROW_NEXT(p, n, spot, down) \
    ((down) ? cud_row_next<true>(p, n, spot, cud_team) : cud_row_next<false>(p, n, spot, cud_team))

template <bool down, class T> HELPER size_t cud_row_next(const T *p, size_t n, cud_spot<T> &spot, unsigned team)
{
    typedef typename cud_bits<T>::type U;
    __shared__ U keys[ROW_PIECES];
    __shared__ unsigned long long places[ROW_PIECES];
    U best = 0;
    unsigned long long at = n;
    const auto better = [&](U k, unsigned long long i) {
        if (k > best || (k == best && i < at))
            best = k, at = i;
    };
    cud_join(team);
    for (size_t c = threadIdx.x % team; c < n; c += team) {
        const U k = cud_key<down>(p[c]);
        if (k < spot.key || (k == spot.key && c >= spot.next))
            better(k, c);
    }
    for (int half = team > 1 ? ROW_LANES / 2 : 0; half > 0; half /= 2) {
        const U k = __shfl_xor_sync(0xffffffff, best, half);
        better(k, __shfl_xor_sync(0xffffffff, at, half));
    }
    if (team == LANES) {
        if (threadIdx.x % ROW_LANES == 0)
            keys[threadIdx.x / ROW_LANES] = best, places[threadIdx.x / ROW_LANES] = at;
        __syncthreads();
        for (int w = 0; w < ROW_PIECES; w++)
            better(keys[w], places[w]);
        __syncthreads();                    /* read before the next one's are written */
    }
    spot.key = best;
    spot.next = at + 1;
    return at;
}
