/* Types, instructions and declarations as text. */
#include <algorithm>
#include "ptx_reader.h"

namespace ptx {

type type_of(const std::string &name)
{
    static const std::map<std::string, type> types = {
        {"u8", U8},     {"b8", U8},   {"s8", S8},   {"u16", U16}, {"b16", U16}, {"s16", S16}, {"u32", U32},     {"b32", U32},
        {"s32", S32},   {"u64", U64}, {"b64", U64}, {"s64", S64}, {"f16", F16}, {"f32", F32}, {"f64", F64},     {"bf16", BF16},
        {"f16x2", F16X2}, {"bf16x2", BF16X2}, {"pred", PREDICATE},
    };
    const auto found = types.find(name);
    return found == types.end() ? NO_TYPE : found->second;
}

size_t bytes_of(type t)
{
    static const size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 4, 4, 1, 0};
    return bytes[t];
}

bool statement::has(const char *mod) const { return std::find(mods.begin(), mods.end(), mod) != mods.end(); }

const std::string &statement::arg(size_t n) const
{
    if (n >= args.size())
        throw std::runtime_error(op + " with too few operands");
    return args[n];
}

statement take_apart(const std::string &text)
{
    statement x;
    const size_t blank = std::min(text.find_first_of(" \t\r\n"), text.size());
    x.mods = split(text.substr(0, blank), '.');
    x.op = x.mods.at(0);
    x.mods.erase(x.mods.begin());
    for (const std::string &m : x.mods)
        if (type_of(m) != NO_TYPE)
            x.types.push_back(type_of(m));
    x.args = split(text.substr(blank), ',');
    return x;
}

int rounding_of(const statement &x)
{
    static const char *const names[][2] = {{"rn", "rni"}, {"rz", "rzi"}, {"rm", "rmi"}, {"rp", "rpi"}};
    for (int n = 0; n < 4; n++)
        if (x.has(names[n][0]) || x.has(names[n][1]))
            return n + 1;
    return 0;
}

int space_of(const statement &x)
{
    for (const std::string &m : x.mods) {
        const std::string name = m.substr(0, m.find("::"));
        for (const auto &[n, where] : {std::pair{"global", GLOBAL}, {"shared", SHARED}, {"local", LOCAL}, {"const", CONSTANT},
                                       {"param", PARAM}})
            if (name == n)
                return where;
    }
    return GENERIC;
}

/* What is in the brackets behind an array's name: the number of elements. */
static size_t elements(const std::string &brackets, bool *open)
{
    size_t n = 1;
    for (size_t at = 0; (at = brackets.find('[', at)) != std::string::npos; at++) {
        const std::string size = trim(brackets.substr(at + 1, brackets.find(']', at) - at - 1));
        *open |= size.empty();
        n *= size.empty() ? 0 : strtoull(size.c_str(), nullptr, 0);
    }
    return n;
}

static bool place_word(const std::string &word, declaration &d)
{
    static const std::map<std::string, space> spaces = {
        {".global", GLOBAL}, {".const", CONSTANT}, {".shared", SHARED}, {".local", LOCAL}, {".param", CALL}};
    const auto found = spaces.find(word);
    if (found != spaces.end())
        d.where = found->second;
    d.is_extern |= word == ".extern";
    return found != spaces.end();
}

declaration read_declaration(std::string text)
{
    declaration d;
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
        d.contents = trim(text.substr(equals + 1));
    const std::vector<std::string> w = words(text.substr(0, equals));
    size_t align = 0;
    bool pointer = false;                 /* .ptr .align tells of what is pointed to (section 5.4) */
    for (size_t n = 0; n < w.size(); n++) {
        pointer |= w[n] == ".ptr";
        if (w[n] == ".align" && n + 1 < w.size()) {
            n++;
            if (!pointer)
                align = strtoull(w[n].c_str(), nullptr, 0);
        } else if (w[n][0] != '.')
            d.name += w[n];
        else if (!place_word(w[n], d) && type_of(w[n].substr(1)) != NO_TYPE)
            d.each = bytes_of(type_of(w[n].substr(1)));
    }
    const size_t bracket = std::min(d.name.find('['), d.name.size());
    d.bytes = d.each * elements(d.name.substr(bracket), &d.open);
    d.name.resize(bracket);
    d.align = align ? align : d.each ? d.each : 1;
    return d;
}

}
