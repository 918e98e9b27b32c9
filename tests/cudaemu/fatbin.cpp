/* The layout is nowhere published: it is as nvcc 11 to 13 write it.
 *
 *   header   u32 magic, u16 version, u16 bytes of this header, u64 bytes that follow it
 *   entry    u16 kind (1 PTX, 2 machine code), u16, u32 bytes of this header, u64 bytes of data, u32 bytes compressed, u32,
 *            u32, u32 architecture (75 for compute_75), ..., at 56: u64 bytes uncompressed, 0 if it is not compressed
 *
 * Data are compressed as one block of LZ4 (nvcc 12), or by zstd (nvcc 13). */
#include <cstring>
#include <dlfcn.h>
#include "fatbin.h"

namespace emu {

enum { FATBIN = 0xba55ed50, ZSTD = 0xfd2fb528, PTX = 1 };

template <class T> static T at(const uint8_t *p, size_t offset)
{
    T x;
    memcpy(&x, p + offset, sizeof x);
    return x;
}

bool is_fatbin(const void *data) { return at<uint32_t>((const uint8_t *)data, 0) == FATBIN; }

static bool unpack_zstd(const uint8_t *from, size_t bytes, std::string &to)
{
    using decompress = size_t (*)(void *, size_t, const void *, size_t);
    static void *const library = dlopen("libzstd.so.1", RTLD_NOW);
    const auto f = library ? (decompress)dlsym(library, "ZSTD_decompress") : nullptr;
    return f && f(to.data(), to.size(), from, bytes) == to.size();
}

/* A length's further bytes: 255 goes on. */
static size_t longer(const uint8_t *from, size_t bytes, size_t &i)
{
    size_t n = 0;
    uint8_t b;
    do {
        b = i < bytes ? from[i++] : 0;
        n += b;
    } while (b == 255);
    return n;
}

/* "LZ4 Block Format Description": literals, then a match, again and again. */
static bool unpack_lz4(const uint8_t *from, size_t bytes, std::string &to)
{
    size_t i = 0, out = 0;
    while (i < bytes) {
        const uint8_t token = from[i++];
        size_t literals = token >> 4, match = token & 15;
        if (literals == 15)
            literals += longer(from, bytes, i);
        if (i + literals > bytes || out + literals > to.size())
            return false;
        memcpy(&to[out], from + i, literals);
        i += literals;
        out += literals;
        if (i + 2 > bytes || out >= to.size())
            break;
        const size_t back = at<uint16_t>(from, i);
        i += 2;
        if (match == 15)
            match += longer(from, bytes, i);
        match += 4;
        if (back == 0 || back > out || out + match > to.size())
            return false;
        for (; match; match--, out++)
            to[out] = to[out - back];
    }
    return out == to.size();
}

static std::string text_of(const uint8_t *entry)
{
    const uint32_t header = at<uint32_t>(entry, 4), packed = at<uint32_t>(entry, 16);
    const size_t bytes = at<uint64_t>(entry, 8), unpacked = header >= 64 ? at<uint64_t>(entry, 56) : 0;
    const uint8_t *const data = entry + header;
    if (!unpacked)
        return std::string((const char *)data, bytes);
    std::string text(unpacked, 0);
    const size_t n = packed ? packed : bytes;
    const bool good = at<uint32_t>(data, 0) == ZSTD ? unpack_zstd(data, n, text) : unpack_lz4(data, n, text);
    return good ? text : "";
}

std::string newest_ptx(const void *data, std::string *why)
{
    const uint8_t *const start = (const uint8_t *)data, *entry = start + at<uint16_t>(start, 6);
    const uint8_t *const end = entry + at<uint64_t>(start, 8);
    std::string best;
    uint32_t newest = 0;
    *why = "no PTX in the program: compile it with nvcc -gencode arch=compute_75,code=compute_75";
    for (; entry < end; entry += at<uint32_t>(entry, 4) + at<uint64_t>(entry, 8)) {
        const uint32_t architecture = at<uint32_t>(entry, 28);
        if (at<uint16_t>(entry, 0) != PTX || architecture < newest)
            continue;
        newest = architecture;
        best = text_of(entry);
        *why = "the program's PTX cannot be decompressed: is libzstd.so.1 there?";
    }
    return best;
}

}
