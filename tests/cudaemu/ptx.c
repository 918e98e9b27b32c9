/* Each group of PTX instructions: one instruction on given registers, and what it must give by the PTX ISA.
 *
 * A case's text uses %a %b %c (.b64 inputs; %a0 ... their lower 32 bits, %ah ... 16 bits) and leaves its result in %d, %d0 or %dh. */
#include <inttypes.h>
#include <string.h>
#include "cudaemu/check.h"

struct each {
    const char *group, *text;
    uint64_t a, b, c, want;
};

#define ONE 0x3f800000
#define TWO 0x40000000
#define NAN32 0x7fffffff
#define NEG32 0x80000000

static const struct each cases[] = {
    {"integers", "add.s32 %d0, %a0, %b0;", 0x7fffffff, 1, 0, 0x80000000},
    {"integers", "add.sat.s32 %d0, %a0, %b0;", 0x7fffffff, 1, 0, 0x7fffffff},
    {"integers", "sub.sat.s32 %d0, %a0, %b0;", 0x80000000, 1, 0, 0x80000000},
    {"integers", "sub.s64 %d, %a, %b;", 1, 3, 0, (uint64_t)-2},
    {"integers", "add.s16 %dh, %ah, %bh;", 0xffff, 2, 0, 1},
    {"integers", "mul.lo.s32 %d0, %a0, %b0;", 0x10001, 0x10001, 0, 0x20001},
    {"integers", "mul.hi.u32 %d0, %a0, %b0;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {"integers", "mul.hi.s64 %d, %a, %b;", (uint64_t)-1, 2, 0, (uint64_t)-1},
    {"integers", "mul.wide.s32 %d, %a0, %b0;", 0xffffffff, 5, 0, (uint64_t)-5},
    {"integers", "mad.wide.u32 %d, %a0, %b0, %c;", 0xffffffff, 0xffffffff, 1, 0xfffffffe00000002},
    {"integers", "mad.lo.s64 %d, %a, %b, %c;", (uint64_t)-3, 4, 5, (uint64_t)-7},
    {"integers", "div.s32 %d0, %a0, %b0;", (uint32_t)-7, 2, 0, (uint32_t)-3},
    {"integers", "div.s32 %d0, %a0, %b0;", 0x80000000, (uint32_t)-1, 0, 0x80000000},
    {"integers", "div.u64 %d, %a, %b;", (uint64_t)-1, 10, 0, 0x1999999999999999},
    {"integers", "rem.s32 %d0, %a0, %b0;", (uint32_t)-7, 2, 0, (uint32_t)-1},
    {"integers", "neg.s32 %d0, %a0;", 5, 0, 0, (uint32_t)-5},
    {"integers", "abs.s64 %d, %a;", (uint64_t)-9, 0, 0, 9},
    {"integers", "min.s32 %d0, %a0, %b0;", (uint32_t)-1, 1, 0, (uint32_t)-1},
    {"integers", "min.u32 %d0, %a0, %b0;", (uint32_t)-1, 1, 0, 1},
    {"integers", "max.s16 %dh, %ah, %bh;", 0xffff, 1, 0, 1},
    {"carry", "add.cc.u32 %d0, %a0, %b0; addc.u32 %d0, %c0, 0;", 0xffffffff, 1, 7, 8},
    {"carry", "sub.cc.u32 %d0, %a0, %b0; subc.u32 %d0, %c0, 0;", 0, 1, 7, 6},
    {"carry", "mad.lo.cc.u32 %d0, %a0, %b0, 2; madc.hi.u32 %d0, %a0, %b0, %c0;", 0xffffffff, 0xffffffff, 1, 0xffffffff},
    {"f32", "add.rn.f32 %d0, %a0, %b0;", ONE, TWO, 0, 0x40400000},
    {"f32", "add.rz.f32 %d0, %a0, %b0;", ONE, 0x33ffffff, 0, ONE},
    {"f32", "add.rp.f32 %d0, %a0, %b0;", ONE, 0x00000001, 0, ONE + 1},
    {"f32", "sub.rm.f32 %d0, %a0, %b0;", ONE, 0x00000001, 0, ONE - 1},
    {"f32", "mul.rn.sat.f32 %d0, %a0, %b0;", TWO, TWO, 0, ONE},
    {"f32", "div.rn.f32 %d0, %a0, %b0;", 0, 0, 0, NAN32},
    {"f32", "div.rn.f32 %d0, %a0, %b0;", ONE, 0x40400000, 0, 0x3eaaaaab},
    {"f32", "add.f32 %d0, %a0, %b0;", 0x7fc12345, ONE, 0, NAN32},
    {"f32", "fma.rn.f32 %d0, %a0, %b0, %c0;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {"f32", "min.f32 %d0, %a0, %b0;", NAN32, ONE, 0, ONE},
    {"f32", "max.f32 %d0, %a0, %b0;", NEG32, 0, 0, 0},
    {"f32", "min.f32 %d0, %a0, %b0;", 0, NEG32, 0, NEG32},
    {"f32", "abs.f32 %d0, %a0;", 0xbf800000, 0, 0, ONE},
    {"f32", "neg.f32 %d0, %a0;", 0, 0, 0, NEG32},
    {"f64", "add.rn.f64 %d, %a, %b;", 0x3ff0000000000000, 0x3ff0000000000000, 0, 0x4000000000000000},
    {"f64", "fma.rn.f64 %d, %a, %b, %c;", 0x4000000000000000, 0x4008000000000000, 0x3ff0000000000000, 0x401c000000000000},
    {"f64", "mul.rz.f64 %d, %a, %b;", 0x3ff0000000000001, 0x3ff0000000000001, 0, 0x3ff0000000000002},
    {"f64", "max.f64 %d, %a, %b;", 0x7ff8000000000000, 0x3ff0000000000000, 0, 0x3ff0000000000000},
    {"functions", "sqrt.rn.f32 %d0, %a0;", 0x40800000, 0, 0, TWO},
    {"functions", "rcp.rn.f32 %d0, %a0;", 0x40400000, 0, 0, 0x3eaaaaab},
    {"functions", "sqrt.rn.f64 %d, %a;", 0x4010000000000000, 0, 0, 0x4000000000000000},
    {"functions", "ex2.approx.ftz.f32 %d0, %a0;", 0x40400000, 0, 0, 0x41000000},
    {"functions", "lg2.approx.f32 %d0, %a0;", 0x41000000, 0, 0, 0x40400000},
    {"functions", "rcp.approx.ftz.f64 %d, %a;", 0x4008000000000000, 0, 0, 0x3fd5555500000000},
    {"halves", "add.f16 %dh, %ah, %bh;", 0x3c00, 0x3c00, 0, 0x4000},
    {"halves", "fma.rn.f16x2 %d0, %a0, %b0, %c0;", 0x3c004000, 0x40004000, 0x3c003c00, 0x42004500},
    {"halves", "mul.f16 %dh, %ah, %bh;", 0x7bff, 0x7bff, 0, 0x7c00},
    {"halves", "add.bf16x2 %d0, %a0, %b0;", 0x3f803f80, 0x3f804000, 0, 0x40004040},
    {"halves", "fma.rn.bf16 %dh, %ah, %bh, %ch;", 0x4000, 0x4040, 0x3f80, 0x40e0},
    {"halves", "neg.f16x2 %d0, %a0;", 0x3c00bc00, 0, 0, 0xbc003c00},
    {"halves", "max.f16 %dh, %ah, %bh;", 0x7e00, 0x3c00, 0, 0x3c00},
    {"bits", "and.b32 %d0, %a0, %b0;", 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
    {"bits", "or.b64 %d, %a, %b;", 1, 0x8000000000000000, 0, 0x8000000000000001},
    {"bits", "xor.b16 %dh, %ah, %bh;", 0xffff, 0x0f0f, 0, 0xf0f0},
    {"bits", "not.b32 %d0, %a0;", 0, 0, 0, 0xffffffff},
    {"bits", "cnot.b32 %d0, %a0;", 0, 0, 0, 1},
    {"bits", "shl.b32 %d0, %a0, %b0;", 1, 32, 0, 0},
    {"bits", "shr.s32 %d0, %a0, %b0;", 0x80000000, 40, 0, 0xffffffff},
    {"bits", "shr.u64 %d, %a, %b0;", 0x8000000000000000, 63, 0, 1},
    {"bits", "shf.l.wrap.b32 %d0, %a0, %b0, %c0;", 0x80000000, 1, 33, 3},
    {"bits", "shf.r.clamp.b32 %d0, %a0, %b0, %c0;", 5, 7, 40, 7},
    {"bits", "bfe.s32 %d0, %a0, %b0, %c0;", 0xf0, 4, 4, 0xffffffff},
    {"bits", "bfe.u32 %d0, %a0, %b0, %c0;", 0xf0, 5, 2, 3},
    {"bits", "bfi.b32 %d0, %a0, %b0, %c0, 8;", 0xab, 0xffffffff, 8, 0xffffabff},
    {"bits", "brev.b32 %d0, %a0;", 1, 0, 0, 0x80000000},
    {"bits", "popc.b64 %d0, %a;", 0xff000000000000ff, 0, 0, 16},
    {"bits", "clz.b32 %d0, %a0;", 0x00ffffff, 0, 0, 8},
    {"bits", "bfind.u32 %d0, %a0;", 0x00800000, 0, 0, 23},
    {"bits", "bfind.shiftamt.s32 %d0, %a0;", 0xfffffffe, 0, 0, 31},
    {"bits", "bfind.u32 %d0, %a0;", 0, 0, 0, 0xffffffff},
    {"bits", "prmt.b32 %d0, %a0, %b0, %c0;", 0x33221180, 0x77665544, 0x8374, 0xff337744},
    {"bits", "lop3.b32 %d0, %a0, %b0, %c0, 0x96;", 0xf0f0, 0xff00, 0xaaaa, 0xf0f0 ^ 0xff00 ^ 0xaaaa},
    {"compare", "setp.lt.s32 %p, %a0, %b0; selp.b32 %d0, 1, 0, %p;", (uint32_t)-1, 1, 0, 1},
    {"compare", "setp.lt.u32 %p, %a0, %b0; selp.b32 %d0, 1, 0, %p;", (uint32_t)-1, 1, 0, 0},
    {"compare", "setp.lt.f32 %p, %a0, %b0; selp.b32 %d0, 1, 0, %p;", NAN32, ONE, 0, 0},
    {"compare", "setp.ltu.f32 %p, %a0, %b0; selp.b32 %d0, 1, 0, %p;", NAN32, ONE, 0, 1},
    {"compare", "setp.ne.f32 %p, %a0, %b0; selp.b32 %d0, 1, 0, %p;", NAN32, NAN32, 0, 0},
    {"compare", "setp.nan.f64 %p, %a, %b; selp.b32 %d0, 1, 0, %p;", 0x7ff8000000000000, 0, 0, 1},
    {"compare", "setp.eq.s32 %p, %a0, %b0; setp.gt.and.s32 %p, %c0, 3, %p; selp.b32 %d0, 1, 0, %p;", 2, 2, 4, 1},
    {"compare", "setp.eq.s32 %p|%q, %a0, %b0; selp.b32 %d0, 5, 6, %q;", 2, 2, 0, 6},
    {"compare", "setp.eq.s32 %p, %a0, %b0; not.pred %p, %p; selp.b32 %d0, 1, 0, %p;", 2, 2, 0, 0},
    {"compare", "set.gt.u32.s32 %d0, %a0, %b0;", 3, 2, 0, 0xffffffff},
    {"compare", "slct.b32.s32 %d0, %a0, %b0, %c0;", 3, 2, (uint32_t)-1, 2},
    {"compare", "copysign.f32 %d0, %a0, %b0;", NEG32, ONE, 0, 0xbf800000},
    {"compare", "testp.subnormal.f32 %p, %a0; selp.b32 %d0, 1, 0, %p;", 1, 0, 0, 1},
    {"convert", "cvt.s64.s32 %d, %a0;", (uint32_t)-2, 0, 0, (uint64_t)-2},
    {"convert", "cvt.u64.u32 %d, %a0;", (uint32_t)-2, 0, 0, 0xfffffffe},
    {"convert", "cvt.sat.s8.s32 %d0, %a0;", 300, 0, 0, 127},
    {"convert", "cvt.rni.s32.f32 %d0, %a0;", 0x40200000, 0, 0, 2},
    {"convert", "cvt.rzi.s32.f32 %d0, %a0;", 0xc0200000, 0, 0, (uint32_t)-2},
    {"convert", "cvt.rmi.s32.f32 %d0, %a0;", 0xc0200000, 0, 0, (uint32_t)-3},
    {"convert", "cvt.rzi.u32.f32 %d0, %a0;", 0xbf800000, 0, 0, 0},
    {"convert", "cvt.rzi.s32.f32 %d0, %a0;", 0x7f800000, 0, 0, 0x7fffffff},
    {"convert", "cvt.rzi.s32.f32 %d0, %a0;", NAN32, 0, 0, 0},
    {"convert", "cvt.rzi.u64.f64 %d, %a;", 0x43e0000000000000, 0, 0, 0x8000000000000000},
    {"convert", "cvt.rn.f32.s64 %d0, %a;", 0x1000001, 0, 0, 0x4b800000},
    {"convert", "cvt.rp.f32.s64 %d0, %a;", 0x1000001, 0, 0, 0x4b800001},
    {"convert", "cvt.rn.f32.f64 %d0, %a;", 0x3ff0000010000000, 0, 0, ONE},
    {"convert", "cvt.rp.f32.f64 %d0, %a;", 0x3ff0000000000001, 0, 0, ONE + 1},
    {"convert", "cvt.f64.f32 %d, %a0;", 0x40400000, 0, 0, 0x4008000000000000},
    {"convert", "cvt.rni.f32.f32 %d0, %a0;", 0x40600000, 0, 0, 0x40800000},
    {"convert", "cvt.rn.f16.f32 %dh, %a0;", 0x3f801000, 0, 0, 0x3c00},
    {"convert", "cvt.rn.f16.f32 %dh, %a0;", 0x477ff000, 0, 0, 0x7c00},
    {"convert", "cvt.f32.f16 %d0, %ah;", 0x0001, 0, 0, 0x33800000},
    {"convert", "cvt.rn.bf16.f32 %dh, %a0;", 0x3f808000, 0, 0, 0x3f80},
    {"convert", "cvt.rn.bf16.f32 %dh, %a0;", 0x3f818000, 0, 0, 0x3f82},
    {"convert", "cvt.f32.bf16 %d0, %ah;", 0x4040, 0, 0, 0x40400000},
    {"convert", "cvt.rn.f16x2.f32 %d0, %a0, %b0;", ONE, TWO, 0, 0x3c004000},
    {"convert", "cvt.rn.bf16x2.f32 %d0, %a0, %b0;", ONE, TWO, 0, 0x3f804000},
    {"move", "mov.b64 %d, {%a0, %b0};", 1, 2, 0, 0x200000001},
    {"move", "mov.b64 {%d0, _}, %a;", 0x500000003, 0, 0, 3},
    {"move", "mov.u32 %d0, %tid.x;", 0, 0, 0, 0},
    {"move", "mov.u32 %d0, %ntid.x;", 0, 0, 0, 1},
    {"memory", "st.shared.u32 [sh+4], %a0; ld.shared.u16 %d0, [sh+6];", 0x12345678, 0, 0, 0x1234},
    {"memory", "st.local.b64 [lo], %a; ld.local.s8 %d, [lo+1];", 0xff00, 0, 0, (uint64_t)-1},
    {"memory", "cvta.shared.u64 %c, sh64; st.u64 [%c], %a; ld.shared.u64 %d, [sh64];", 77, 0, 0, 77},
    {"memory", "st.shared.v2.u32 [sh64], {%a0, %b0}; ld.shared.u64 %d, [sh64];", 1, 2, 0, 0x200000001},
    {"memory", "st.global.u32 [gl], %a0; ld.global.nc.v4.u8 {%d0, %a0, %b0, %c0}, [gl];", 0x04030201, 0, 0, 1},
    {"memory", "ld.const.u32 %d0, [co+4];", 0, 0, 0, 22},
    {"memory", "mov.u64 %c, sh64; isspacep.shared %p, %c; selp.b32 %d0, 1, 0, %p;", 0, 0, 0, 0},
    {"atomics", "st.shared.u32 [sh], %a0; atom.shared.add.u32 %d0, [sh], %b0; ld.shared.u32 %c0, [sh]; add.u32 %d0, %d0, %c0;",
     5, 6, 0, 16},
    {"atomics", "st.shared.u32 [sh], %a0; atom.shared.cas.b32 %d0, [sh], 5, %b0; ld.shared.u32 %d0, [sh];", 5, 6, 0, 6},
    {"atomics", "st.shared.u32 [sh], %a0; atom.shared.min.s32 %d0, [sh], %b0; ld.shared.u32 %d0, [sh];", 5, (uint32_t)-6, 0,
     (uint32_t)-6},
    {"atomics", "st.shared.u32 [sh], %a0; red.shared.inc.u32 [sh], %b0; ld.shared.u32 %d0, [sh];", 6, 6, 0, 0},
    {"atomics", "st.shared.u32 [sh], %a0; atom.shared.exch.b32 %d0, [sh], %b0;", 6, 7, 0, 6},
    {"atomics", "st.global.f32 [gl], %a0; red.global.add.f32 [gl], %b0; ld.global.f32 %d0, [gl];", ONE, ONE, 0, TWO},
    {"control", "setp.eq.s32 %p, %a0, 1; @%p bra yes; mov.u32 %d0, 5; bra end; yes: mov.u32 %d0, 6; end:", 1, 0, 0, 6},
    {"control", "setp.eq.s32 %p, %a0, 1; @!%p mov.u32 %d0, 5; @%p mov.u32 %d0, 8;", 1, 0, 0, 8},
    {"control", "{ .reg .b32 %a0; mov.u32 %a0, 3; } mov.u32 %d0, %a0;", 9, 0, 0, 9},
    {"control", "{ .param .b32 in; .param .b32 out; st.param.b32 [in], %a0; call.uni (out), twice, (in); ld.param.b32 %d0, [out]; }",
     21, 0, 0, 42},
    {"control", "barrier.sync 0; bar.red.popc.u32 %d0, 0, 1;", 0, 0, 0, 1},
    {"warp", "shfl.sync.idx.b32 %d0|%p, %a0, 0, 31, 1;", 9, 0, 0, 9},
    {"warp", "vote.sync.ballot.b32 %d0, 1, 1;", 0, 0, 0, 1},
    {"warp", "redux.sync.add.s32 %d0, %a0, 1;", 4, 0, 0, 4},
    {"warp", "match.any.sync.b32 %d0, %a0, 1;", 4, 0, 0, 1},
    {"warp", "bar.warp.sync 1; activemask.b32 %d0;", 0, 0, 0, 1},
};

static const char head[] = ".version 8.7\n.target sm_75\n.address_size 64\n"
    ".global .align 16 .b8 gl[16];\n.const .align 4 .u32 co[2] = {11, 22};\n"
    ".func (.param .b32 out) twice(.param .b32 in) {\n.reg .b32 %x;\nld.param.b32 %x, [in]; add.s32 %x, %x, %x; st.param.b32 [out], %x;"
    "\nret;\n}\n";
static const char before[] = ".visible .entry k(.param .u64 p) {\n.reg .pred %p, %q;\n.reg .b64 %a, %b, %c, %d, %io;\n"
    ".reg .b32 %a0, %b0, %c0, %d0;\n.reg .b16 %ah, %bh, %ch, %dh;\n.shared .align 8 .b8 sh[8];\n.shared .align 8 .b8 sh64[8];\n"
    ".local .align 8 .b8 lo[8];\n"
    "ld.param.u64 %io, [p];\nld.global.u64 %a, [%io];\nld.global.u64 %b, [%io+8];\nld.global.u64 %c, [%io+16];\n"
    "cvt.u32.u64 %a0, %a; cvt.u32.u64 %b0, %b; cvt.u32.u64 %c0, %c;\n"
    "cvt.u16.u64 %ah, %a; cvt.u16.u64 %bh, %b; cvt.u16.u64 %ch, %c;\n";

/* The result is in the register that the text ends up in: %d, %d0 or %dh. */
static const char *store(const char *text)
{
    return strstr(text, "%d0")   ? "st.global.u32 [%io], %d0;"
           : strstr(text, "%dh") ? "st.global.u16 [%io], %dh;"
                                 : "st.global.u64 [%io], %d;";
}

static int runs(const struct each *e)
{
    char text[4000];
    uint64_t values[3] = {e->a, e->b, e->c}, out = 0, *device;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    const dim3 one = {1, 1, 1};
    snprintf(text, sizeof text, "%s%s%s\n%s\nret;\n}\n", head, before, e->text, store(e->text));
    MUST(cudaMalloc((void **)&device, sizeof values));
    MUST(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    MUST(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cudaLibraryGetKernel(&kernel, library, "k"));
    void *arguments[] = {&device};
    MUST(cudaLaunchKernel((const void *)kernel, one, one, arguments, 0, NULL));
    const size_t bytes = strstr(e->text, "%d0") ? 4 : strstr(e->text, "%dh") ? 2 : 8;
    MUST(cudaMemcpy(&out, device, bytes, cudaMemcpyDeviceToHost));
    MUST(cudaLibraryUnload(library));
    MUST(cudaFree(device));
    if (out == e->want)
        return 1;
    printf("# got 0x%" PRIx64 ", not 0x%" PRIx64 "\n", out, e->want);
    return 0;
}

static int refuses(const char *text)
{
    cudaLibrary_t library;
    cudaKernel_t kernel;
    char all[4000];
    uint64_t *device;
    const dim3 one = {1, 1, 1};
    snprintf(all, sizeof all, "%s%s%s\nret;\n}\n", head, before, text);
    MUST(cudaMalloc((void **)&device, 24));
    MUST(cudaLibraryLoadData(&library, all, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cudaLibraryGetKernel(&kernel, library, "k"));
    void *arguments[] = {&device};
    return cudaLaunchKernel((const void *)kernel, one, one, arguments, 0, NULL) == cudaErrorInvalidPtx;
}

int main(void)
{
    cudaLibrary_t library;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        ok(runs(&cases[n]), "%s: %s", cases[n].group, cases[n].text);
    ok(refuses("wmma.load.a.sync.row.m16n16k16.shared.f16 {%a0}, [sh];"),
       "an unknown instruction makes its kernel unknown, no more");
    ok(refuses("add.u32 %d0, %nothing, 1;"), "so does an unknown operand");
    ok(refuses("bra nowhere;"), "so does an unknown label");
    ok(cudaLibraryLoadData(&library, "not PTX", NULL, NULL, 0, NULL, NULL, 0) == cudaErrorInvalidKernelImage,
       "text that is no PTX");
    ok(cudaLibraryLoadData(&library, "\177ELF....", NULL, NULL, 0, NULL, NULL, 0) == cudaErrorNoKernelImageForDevice,
       "machine code");
    return done_testing();
}
