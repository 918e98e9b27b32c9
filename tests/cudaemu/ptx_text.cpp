#include <algorithm>
#include <cctype>
#include <cstdlib>
#include "ptx_text.h"

namespace ptx {

static const char BLANKS[] = " \t\r\n";

std::string trim(const std::string &s)
{
    const size_t from = s.find_first_not_of(BLANKS);
    return from == std::string::npos ? "" : s.substr(from, s.find_last_not_of(BLANKS) - from + 1);
}

std::vector<std::string> split(const std::string &s, char c)
{
    std::vector<std::string> parts;
    std::string part;
    int depth = 0;
    for (char ch : s) {
        depth += (ch == '{' || ch == '[' || ch == '(') - (ch == '}' || ch == ']' || ch == ')');
        if (ch == c && depth == 0) {
            parts.push_back(trim(part));
            part.clear();
        } else
            part += ch;
    }
    if (!trim(part).empty())
        parts.push_back(trim(part));
    return parts;
}

std::vector<std::string> words(const std::string &s)
{
    std::vector<std::string> found;
    for (size_t from, to = 0; (from = s.find_first_not_of(BLANKS, to)) != std::string::npos;) {
        to = std::min(s.find_first_of(BLANKS, from), s.size());
        found.push_back(s.substr(from, to - from));
    }
    return found;
}

std::vector<std::string> within(const std::string &s)
{
    const size_t from = s.find_first_of("({["), to = s.find_last_of(")}]");
    if (from == std::string::npos || to == std::string::npos || to < from)
        return {};
    return split(s.substr(from + 1, to - from - 1), ',');
}

bool number(const std::string &s, uint64_t &v)
{
    if (s.size() > 2 && s[0] == '0' && ((tolower(s[1]) == 'f' && s.size() == 10) || (tolower(s[1]) == 'd' && s.size() == 18))) {
        v = strtoull(s.c_str() + 2, nullptr, 16);
        return true;
    }
    if (s.empty() || (!isdigit((unsigned char)s[0]) && s[0] != '-'))
        return false;
    char *end;
    v = s[0] == '-' ? (uint64_t)strtoll(s.c_str(), &end, 0) : strtoull(s.c_str(), &end, 0);
    end += *end == 'U';
    return *end == 0;
}

static bool without_meaning(const std::string &s, size_t at)
{
    for (const char *d : {".loc ", ".loc\t", ".file", ".version", ".target", ".address_size"})
        if (s.compare(at, std::string(d).size(), d) == 0)
            return true;
    return false;
}

static size_t skip_comment(const std::string &s, size_t at, std::string &out)
{
    const bool line = s[at + 1] == '/';
    const size_t end = std::min(s.find(line ? "\n" : "*/", at), s.size());
    out.append(std::count(s.begin() + at, s.begin() + end, '\n'), '\n');
    return line ? end : end + 2;
}

std::string clean(const std::string &s)
{
    std::string out;
    out.reserve(s.size());
    bool start = true;                    /* of a line */
    for (size_t at = 0; at < s.size();) {
        if (s[at] == '/' && at + 1 < s.size() && (s[at + 1] == '/' || s[at + 1] == '*')) {
            at = skip_comment(s, at, out);
            continue;
        }
        if (start && without_meaning(s, std::min(s.find_first_not_of(" \t", at), s.size()))) {
            at = std::min(s.find('\n', at), s.size());
            continue;
        }
        start = s[at] == '\n';
        out += s[at] ? s[at] : ' ';
        at++;
    }
    return out;
}

int line_of(const std::string &s, size_t at) { return 1 + (int)std::count(s.begin(), s.begin() + at, '\n'); }

}
