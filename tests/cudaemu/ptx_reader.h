/* How the text of a kernel becomes instructions.  Each group of instructions has a file with a function read_GROUP, which knows
 * its mnemonics and fills an ins. */
#ifndef CUDAEMU_PTX_READER_H
#define CUDAEMU_PTX_READER_H

#include <stdexcept>
#include "ptx_text.h"
#include "ptx_thread.h"

namespace ptx {

/* Section 5.2.  The untyped .b sizes are read as unsigned ones. */
enum type { U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64, F16X2, BF16X2, PREDICATE, NO_TYPE };
type type_of(const std::string &name);
size_t bytes_of(type t);

/* One instruction, taken apart at its dots and commas. */
struct statement {
    std::string op;
    std::vector<std::string> mods, args;
    std::vector<type> types;              /* of the modifiers, in order */
    bool has(const char *mod) const;
    const std::string &arg(size_t n) const;
    type last() const { return types.empty() ? NO_TYPE : types.back(); }
    type first() const { return types.empty() ? NO_TYPE : types.front(); }
};
statement take_apart(const std::string &text);

struct symbol {
    space where = GENERIC;
    u64 address = 0;
    bool dynamic = false;
};
using symbols = std::map<std::string, symbol>;

/* A variable's declaration (section 5.4). */
struct declaration {
    std::string name, contents;
    space where = GENERIC;
    bool is_extern = false, open = false; /* open: an array without a size */
    size_t align = 1, each = 0, bytes = 0;
};
declaration read_declaration(std::string text);

/* A .func: it is read anew for every call, in place. */
struct function {
    std::string head, body;
    int line;
};

/* What the kernels of a module have in common. */
struct shelf {
    module &m;
    const placer &place;
    symbols globals;
    std::map<std::string, function> functions;
    size_t shared_bytes = 0;
    symbol declare(const declaration &d); /* in .global or .const memory */
};

/* The body of a kernel, or of a function within one. */
class reader {
  public:
    reader(shelf &s, kernel &into) : s(s), k(into) {}
    void body(const std::string &text, int line);
    void name(const std::string &n, const symbol &at) { names[n] = at; }

    /* for the groups of instructions */
    int slot(u64 first = 0);
    int operand(const std::string &text);
    int result(const std::string &text);                      /* "_" is a slot that nobody reads */
    void results(const std::string &text, ins &i);            /* d, or d|p */
    void operands(const statement &x, ins &i, int sources);   /* d, then a b c e */
    void predicate(std::string text, int &slot, int &negated);
    void vector(const std::string &text, ins &i);
    int address(const std::string &text, ins &i);             /* [a+offset]; the space of a symbol, or -1 */
    void jump(const std::string &label) { jumps.push_back({k.code.size(), label}); }
    symbol find(const std::string &n) const;
    void call(const statement &x, const ins &guard);
    void add(const ins &i) { k.code.push_back(i); }
    bool is_inlined() const { return inlined; }

  private:
    shelf &s;
    kernel &k;
    symbols names;
    std::map<std::string, int> registers, specials;
    std::map<std::string, size_t> labels;
    std::map<u64, int> constants;
    std::vector<std::pair<size_t, std::string>> jumps;
    std::vector<std::vector<std::pair<std::string, int>>> hidden;     /* by the scopes that are open */
    bool inlined = false;
    int depth = 0;

    const symbol *look_up(const std::string &n) const;
    void set_register(const std::string &n);
    void end_scope();
    void declare_registers(const std::string &text);
    void declare(const std::string &text);
    void sentence(std::string text, int line);
    void instruction(const std::string &text, int line);
    void end();
};

/* Each: is the instruction one of this group?  i.run stays NULL for a type that the group does not know. */
bool read_move(reader &r, const statement &x, ins &i);
bool read_arithmetic(reader &r, const statement &x, ins &i);
bool read_carry(reader &r, const statement &x, ins &i);
bool read_half(reader &r, const statement &x, ins &i);
bool read_bits(reader &r, const statement &x, ins &i);
bool read_compare(reader &r, const statement &x, ins &i);
bool read_convert(reader &r, const statement &x, ins &i);
bool read_function(reader &r, const statement &x, ins &i);
bool read_memory(reader &r, const statement &x, ins &i);
bool read_atomic(reader &r, const statement &x, ins &i);
bool read_control(reader &r, const statement &x, ins &i);
bool read_warp(reader &r, const statement &x, ins &i);

/* .rn .rz .rm .rp, and the .rni ... that round to an integer: 1 to 4, 0 where none is given. */
int rounding_of(const statement &x);
int space_of(const statement &x);

/* The action for a type: make is a lambda with a template parameter. */
template <class M> action of_integer(type t, M make)
{
    switch (t) {
    case U8: return make.template operator()<u8>();
    case S8: return make.template operator()<s8>();
    case U16: return make.template operator()<u16>();
    case S16: return make.template operator()<s16>();
    case U32: return make.template operator()<u32>();
    case S32: return make.template operator()<s32>();
    case U64: return make.template operator()<u64>();
    case S64: return make.template operator()<s64>();
    default: return nullptr;
    }
}
template <class M> action of_float(type t, M make)
{
    return t == F32 ? make.template operator()<float>() : t == F64 ? make.template operator()<double>() : nullptr;
}
template <class M> action of_unsigned(type t, M make)
{
    switch (bytes_of(t)) {
    case 1: return make.template operator()<u8>();
    case 2: return make.template operator()<u16>();
    case 4: return make.template operator()<u32>();
    case 8: return make.template operator()<u64>();
    default: return nullptr;
    }
}
template <class M> action of_number(type t, M make)
{
    return t <= S64 ? of_integer(t, make) : of_float(t, make);
}
#define ACTION(name) []<class T>() -> action { return name<T>; }

}
#endif
