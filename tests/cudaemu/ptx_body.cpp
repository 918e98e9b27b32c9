/* The body of a kernel: registers, scopes, labels, calls.  A call of a function is replaced by the function. */
#include <algorithm>
#include "ptx_reader.h"

namespace ptx {

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

int reader::slot(u64 first)
{
    k.slots.push_back(first);
    return (int)k.slots.size() - 1;
}

/* Section 10. */
static int special_register(const std::string &name)
{
    static const char *const names[] = {
        "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y",
        "%nctaid.z", "%laneid", "%warpid", "%nwarpid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge",
        "%lanemask_gt", "%smid", "%nsmid", "%gridid", "%dynamic_smem_size", "%total_smem_size"};
    for (int n = 0; n < (int)(sizeof names / sizeof *names); n++)
        if (name == names[n])
            return n;
    return -1;
}

const symbol *reader::look_up(const std::string &n) const
{
    const auto own = names.find(n);
    if (own != names.end())
        return &own->second;
    const auto global = s.globals.find(n);
    return global == s.globals.end() ? nullptr : &global->second;
}

symbol reader::find(const std::string &n) const
{
    const symbol *found = look_up(n);
    if (!found)
        throw std::runtime_error("unknown symbol " + n);
    return *found;
}

int reader::operand(const std::string &text)
{
    const auto r = registers.find(text);
    if (r != registers.end())
        return r->second;
    const int special = special_register(text);
    if (special >= 0) {
        if (!specials.count(text)) {
            specials[text] = slot();
            k.specials.push_back({special, specials[text]});
        }
        return specials[text];
    }
    u64 v = 32;
    if (text != "WARP_SZ" && !number(text, v)) {
        const symbol *at = look_up(text);
        if (!at)
            throw std::runtime_error("unknown operand " + text);
        if (at->dynamic) {
            k.dynamic.push_back(slot());
            return k.dynamic.back();
        }
        v = at->address;
    }
    if (!constants.count(v))
        constants[v] = slot(v);
    return constants[v];
}

int reader::result(const std::string &text) { return text == "_" ? slot() : operand(text); }

void reader::results(const std::string &text, ins &i)
{
    const size_t bar = text.find('|');
    i.d = result(trim(text.substr(0, bar)));
    if (bar != std::string::npos)
        i.p = result(trim(text.substr(bar + 1)));
}

void reader::operands(const statement &x, ins &i, int sources)
{
    int *const to[] = {&i.a, &i.b, &i.c, &i.e};
    results(x.arg(0), i);
    for (int n = 0; n < sources; n++)
        *to[n] = operand(x.arg(n + 1));
}

void reader::predicate(std::string text, int &slot, int &negated)
{
    negated = !text.empty() && text[0] == '!';
    slot = operand(trim(text.substr(negated)));
}

void reader::vector(const std::string &text, ins &i)
{
    const std::vector<std::string> parts = within(text);
    if (parts.empty() || parts.size() > 8)
        throw std::runtime_error("vector " + text);
    i.width = (int)parts.size();
    for (size_t n = 0; n < parts.size(); n++)
        i.v[n] = result(parts[n]);
}

int reader::address(const std::string &text, ins &i)
{
    const std::string inner = trim(text.substr(1, text.rfind(']') - 1));
    const size_t plus = std::min(inner.find('+', 1), inner.size());
    const std::string base = trim(inner.substr(0, plus));
    u64 v = 0;
    if (plus < inner.size() && !number(trim(inner.substr(plus + 1)), v))
        throw std::runtime_error("address " + text);
    i.offset = (s64)v;
    i.a = operand(base);
    const symbol *at = registers.count(base) ? nullptr : look_up(base);
    return at ? at->where : -1;
}

/* A register of an inner scope hides the outer one of its name until the scope ends. */
void reader::set_register(const std::string &n)
{
    if (!hidden.empty()) {
        const auto outer = registers.find(n);
        hidden.back().push_back({n, outer == registers.end() ? -1 : outer->second});
    }
    registers[n] = slot();
}

void reader::end_scope()
{
    if (hidden.empty())
        return;
    for (auto h = hidden.back().rbegin(); h != hidden.back().rend(); ++h)
        if (h->second < 0)
            registers.erase(h->first);
        else
            registers[h->first] = h->second;
    hidden.pop_back();
}

/* ".reg .f32 %f<7>, %x" */
void reader::declare_registers(const std::string &text)
{
    const std::vector<std::string> w = words(text);
    std::string list;
    for (size_t n = 2; n < w.size(); n++)
        list += w[n];
    for (const std::string &r : split(list, ',')) {
        const size_t open = r.find('<');
        if (open == std::string::npos)
            set_register(r);
        for (int n = 0; open != std::string::npos && n < atoi(r.c_str() + open + 1); n++)
            set_register(r.substr(0, open) + std::to_string(n));
    }
}

void reader::declare(const std::string &text)
{
    const declaration d = read_declaration(text);
    if (d.where == GLOBAL || d.where == CONSTANT) {
        names[d.name] = s.declare(d);
        return;
    }
    if (d.where == SHARED && d.open) {
        names[d.name] = {SHARED, 0, true};
        return;
    }
    size_t &top = d.where == SHARED ? k.shared_bytes : k.local_bytes;
    top = round_up(top, d.align);
    names[d.name] = {d.where, top};
    top += d.bytes;
}

void reader::instruction(const std::string &text, int line)
{
    ins i;
    i.line = line;
    i.text = text;
    std::string rest = text;
    if (rest[0] == '@') {
        const size_t blank = rest.find_first_of(" \t");
        int negated;
        predicate(rest.substr(1, blank - 1), i.guard, negated);
        i.guard_not = negated;
        rest = trim(rest.substr(blank));
    }
    const statement x = take_apart(rest);
    i.saturate = x.has("sat");
    if (x.op == "call" && !read_control(*this, x, i)) {
        call(x, i);
        return;
    }
    for (const auto group : {read_move, read_carry, read_half, read_arithmetic, read_bits, read_compare, read_convert, read_function,
                             read_memory, read_atomic, read_warp, read_control})
        if (i.run || group(*this, x, i))
            break;
    if (!i.run)
        throw std::runtime_error("line " + std::to_string(line) + ": unknown instruction: " + rest);
    add(i);
}

/* A semicolon ends it. */
void reader::sentence(std::string text, int line)
{
    text = trim(text);
    if (text.empty())
        return;
    if (text[0] != '.')
        instruction(text, line);
    else if (text.rfind(".reg", 0) == 0)
        declare_registers(text);
    else
        for (const char *d : {".local", ".shared", ".param", ".global", ".const"})
            if (text.rfind(d, 0) == 0)
                declare(text);
}

void reader::body(const std::string &text, int line)
{
    std::string part;
    int start = line, depth = 0;
    for (size_t at = 0; at < text.size(); at++) {
        const char c = text[at];
        line += c == '\n';
        const std::string so_far = trim(part);
        if (so_far.empty())
            start = line;
        if (c == ';') {
            sentence(part, start);
            part.clear();
        } else if (depth == 0 && so_far.empty() && (c == '{' || c == '}')) {
            if (c == '{')
                hidden.emplace_back();
            else
                end_scope();
        } else if (c == ':' && depth == 0 && text[at + 1] != ':' && text[at - 1] != ':' && !so_far.empty() &&
                   so_far.find_first_of(" \t.") == std::string::npos) {
            labels[so_far] = k.code.size();
            part.clear();
        } else {
            depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
            part += c;
        }
    }
    end();
}

/* Jumps find their labels.  A function's ret jumps behind it. */
void reader::end()
{
    if (inlined)
        labels["ret"] = k.code.size();
    else
        instruction("ret", 0);
    for (const auto &[at, label] : jumps) {
        const auto found = labels.find(label);
        if (found == labels.end())
            throw std::runtime_error("unknown label " + label);
        k.code[at].target = (int)found->second;
    }
}

/* The names of "(.param .b32 a, .param .align 8 .b8 b[16])". */
static std::vector<std::string> names_in(const std::string &text)
{
    std::vector<std::string> found;
    for (const std::string &p : within(text))
        found.push_back(read_declaration(p).name);
    return found;
}

/* "call (result), name, (arguments)": section 9.7.13. */
void reader::call(const statement &x, const ins &guard)
{
    const bool gives = x.arg(0)[0] == '(';
    const std::string name = x.arg(gives);
    const auto f = s.functions.find(name);
    if (f == s.functions.end())
        throw std::runtime_error("call of " + name + ", which is not here");
    if (depth > 16)
        throw std::runtime_error("recursive call of " + name);
    const std::string head = f->second.head.substr(f->second.head.find(".func") + 5);
    const size_t at = head.find(name);
    const std::vector<std::string> results = names_in(head.substr(0, at)), params = names_in(head.substr(at));
    const std::vector<std::string> to = gives ? within(x.arg(0)) : std::vector<std::string>();
    const std::vector<std::string> from = x.args.size() > gives + 1u ? within(x.args.back()) : std::vector<std::string>();
    if (results.size() != to.size() || params.size() != from.size())
        throw std::runtime_error("call of " + name + " with other operands than it has");
    ins skip = guard;                     /* @p call: @!p jumps over it */
    skip.guard_not = !guard.guard_not;
    const size_t skip_at = k.code.size();
    if (guard.guard >= 0) {
        const statement jump_over{"bra", {}, {""}, {}};
        read_control(*this, jump_over, skip);
        jumps.pop_back();
        add(skip);
    }
    reader r(s, k);
    r.inlined = true;
    r.depth = depth + 1;
    for (size_t n = 0; n < to.size(); n++)
        r.names[results[n]] = find(to[n]);
    for (size_t n = 0; n < from.size(); n++)
        r.names[params[n]] = find(from[n]);
    r.body(f->second.body, f->second.line);
    if (guard.guard >= 0)
        k.code[skip_at].target = (int)k.code.size();
}

}
