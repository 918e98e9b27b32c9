/* rows.h's words on the CPU. */

/* The greatest key of p[0..n) that is not above `most`; 0: none. */
template <bool down, class T, class U> HELPER U cud_greatest_key(const T *p, size_t n, U most)
{
    U best = 0;
    for (size_t c = 0; c < n; c++) {
        const U k = cud_key<down>(p[c]), may = k > most ? 0 : k;
        best = may > best ? may : best;
    }
    return best;
}

/* The first of p[0..n) with this key, or n. */
template <bool down, class T, class U> HELPER size_t cud_find_key(const T *p, size_t n, U key)
{
    size_t c = 0;
    for (; c + 64 <= n; c += 64) {
        U hit = 0;
        for (int l = 0; l < 64; l++)
            hit |= cud_key<down>(p[c + l]) == key;
        if (hit)
            break;
    }
    while (c < n && cud_key<down>(p[c]) != key)
        c++;
    return c;
}

template <bool down, class T> HELPER size_t cud_row_next(const T *p, size_t n, cud_spot<T> &spot)
{
    typedef typename cud_bits<T>::type U;
    const size_t from = spot.next;
    const U behind = cud_greatest_key<down>(p + from, n - from, spot.key);
    const U before = cud_greatest_key<down>(p, from, spot.key - 1);
    const U key = GREATER(behind, before);
    if (key == 0)
        return n;
    /* before `from` elements of the same key are done with */
    const size_t at = before == key ? cud_find_key<down>(p, from, key) : from + cud_find_key<down>(p + from, n - from, key);
    spot.key = key;
    spot.next = at + 1;
    return at;
}
#define ROW_NEXT(p, n, spot, down) ((down) ? cud_row_next<true>(p, n, spot) : cud_row_next<false>(p, n, spot))
