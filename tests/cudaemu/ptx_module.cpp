/* A module: its variables, functions and kernels. */
#include <algorithm>
#include "ptx_reader.h"

namespace ptx {

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* "{1, 2}", or the address of another variable: bytes (section 5.4.4). */
static std::vector<u8> contents_of(const declaration &d, const symbols &globals)
{
    std::vector<u8> bytes(std::max<size_t>(d.bytes, 1));
    std::string flat = d.contents;
    std::replace_if(flat.begin(), flat.end(), [](char c) { return c == '{' || c == '}' || c == ','; }, ' ');
    size_t at = 0;
    for (std::string word : words(flat)) {
        u64 v;
        if (!number(word, v)) {
            if (word.rfind("generic(", 0) == 0)
                word = word.substr(8, word.size() - 9);
            const auto other = globals.find(word);
            if (other == globals.end())
                throw std::runtime_error("unknown contents " + word + " of " + d.name);
            v = other->second.address;
        }
        if (at + d.each <= bytes.size())
            memcpy(&bytes[at], &v, d.each);
        at += d.each;
    }
    return bytes;
}

symbol shelf::declare(const declaration &d)
{
    const u64 address = place(contents_of(d, globals));
    m.variables.push_back({d.name, address, d.bytes});
    return {d.where, address};
}

static void declare_global(shelf &s, const std::string &text)
{
    const declaration d = read_declaration(text);
    if (!d.each || d.name.empty())
        return;
    if (d.where == SHARED && d.open && d.is_extern)
        s.globals[d.name] = {SHARED, 0, true};
    else if (d.where == SHARED) {
        s.shared_bytes = round_up(s.shared_bytes, d.align);
        s.globals[d.name] = {SHARED, s.shared_bytes};
        s.shared_bytes += d.bytes;
    } else
        s.globals[d.name] = s.declare(d);
}

/* One top-level piece: head { body }, or head; with an empty body. */
struct piece {
    std::string head, body;
    int line;
    bool has_body;
};

static size_t closing(const std::string &s, size_t at)
{
    int depth = 0;
    for (; at < s.size(); at++) {
        depth += (s[at] == '{') - (s[at] == '}');
        if (depth == 0)
            break;
    }
    return at;
}

static std::vector<piece> pieces_of(const std::string &s)
{
    std::vector<piece> found;
    for (size_t at = 0; (at = s.find_first_not_of(" \t\r\n", at)) != std::string::npos;) {
        const size_t semicolon = std::min(s.find(';', at), s.size()), brace = std::min(s.find('{', at), s.size());
        const std::string head = s.substr(at, std::min(semicolon, brace) - at);
        const bool body = brace < semicolon && head.find('=') == std::string::npos;
        if (body) {
            at = closing(s, brace);
            found.push_back({head, s.substr(brace + 1, at - brace - 1), line_of(s, brace), true});
        } else {
            found.push_back({s.substr(at, semicolon - at), "", line_of(s, at), false});
            at = semicolon;
        }
        at++;
    }
    return found;
}

/* The name of "[(results)] name [(parameters)]". */
static std::string name_of(const std::string &head, const char *directive)
{
    std::string rest = trim(head.substr(head.find(directive) + strlen(directive)));
    if (!rest.empty() && rest[0] == '(')
        rest = rest.substr(rest.find(')') + 1);
    const std::vector<std::string> w = words(rest.substr(0, rest.find('(')));
    return w.empty() ? "" : w[0];
}

static void read_params(const std::string &list, kernel &k, reader &r)
{
    size_t at = 0;
    for (const std::string &text : split(list, ',')) {
        const declaration d = read_declaration(text);
        at = round_up(at, d.align);
        k.params.push_back({d.name, at, d.bytes});
        r.name(d.name, {PARAM, at});
        at += d.bytes;
    }
    k.param_bytes = at;
}

/* .maxntid and .reqntid (section 11.4). */
static unsigned threads_of(const std::string &directives)
{
    unsigned n[3] = {1, 1, 1};
    const size_t at = directives.find("ntid");
    if (at == std::string::npos || sscanf(directives.c_str() + at + 4, "%u , %u , %u", &n[0], &n[1], &n[2]) < 1)
        return 0;
    return n[0] * n[1] * n[2];
}

static void read_kernel(shelf &s, const piece &p)
{
    const std::string name = name_of(p.head, ".entry");
    kernel &k = s.m.kernels[name];
    k.name = name;
    k.shared_bytes = s.shared_bytes;
    reader r(s, k);
    const size_t open = p.head.find('('), close = p.head.rfind(')');
    if (open != std::string::npos && close != std::string::npos)
        read_params(p.head.substr(open + 1, close - open - 1), k, r);
    k.max_threads = threads_of(close == std::string::npos ? p.head : p.head.substr(close + 1));
    try {
        r.body(p.body, p.line);
    } catch (const std::exception &e) {
        k.error = e.what();
    }
}

module read(const std::string &text, const placer &place)
{
    module m;
    shelf s{m, place, {}, {}};
    const std::vector<piece> pieces = pieces_of(clean(text));
    for (const piece &p : pieces)
        if (p.has_body && p.head.find(".entry") == std::string::npos && p.head.find(".func") != std::string::npos)
            s.functions[name_of(p.head, ".func")] = {p.head, p.body, p.line};
        else if (!p.has_body && p.head.find(".func") == std::string::npos && p.head.find(".entry") == std::string::npos)
            declare_global(s, p.head);
    for (const piece &p : pieces)
        if (p.has_body && p.head.find(".entry") != std::string::npos)
            read_kernel(s, p);
    return m;
}

}
