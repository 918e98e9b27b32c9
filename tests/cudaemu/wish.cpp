#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include "wish.h"

namespace emu {

static bool on_this_rank(const std::string &text)
{
    const size_t at = text.find('@');
    const char *me = getenv("OMPI_COMM_WORLD_RANK");
    if (!me)
        me = getenv("PMIX_RANK");
    if (!me)
        me = getenv("PMI_RANK");
    return at == std::string::npos || text.substr(at + 1) == (me ? me : "0");
}

/* text: call:n[+][:code], without the rank. */
static wish read_wish(const char *variable, const std::string &text, int (*code_of)(const std::string &, const std::string &))
{
    const size_t first = text.find(':'), second = text.find(':', first + 1);
    if (first == std::string::npos) {
        fprintf(stderr, "%s=call:n[+][:code][@rank]: not %s\n", variable, text.c_str());
        abort();
    }
    const std::string call = text.substr(0, first), nth = text.substr(first + 1, second - first - 1);
    const std::string code = second == std::string::npos ? "" : text.substr(second + 1);
    return {call, strtoull(nth.c_str(), nullptr, 10), nth.back() == '+', code_of(code, call)};
}

wish_list::wish_list(const char *variable, int (*code_of)(const std::string &, const std::string &))
{
    const char *const text = getenv(variable);
    for (std::string rest = text ? text : ""; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const std::string one = rest.substr(0, comma);
        if (on_this_rank(one))
            all.push_back(read_wish(variable, one.substr(0, one.find('@')), code_of));
        rest.erase(0, comma + 1);
    }
}

int wish_list::take(const char *call)
{
    const std::lock_guard<std::mutex> l(own);
    for (wish &w : all)
        if (w.call == call && (++w.seen == w.nth || (w.later && w.seen > w.nth)))
            return w.code;
    return 0;
}

}
