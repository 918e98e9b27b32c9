/* What a test wants to go wrong: VARIABLE=call:n[+][:code][@rank], several with commas.  The nth call of that name, on that rank
 * (Open MPI's or PMIx's; left out: on each), and with a + all later ones too. */
#ifndef CUDAEMU_WISH_H
#define CUDAEMU_WISH_H

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace emu {

struct wish {
    std::string call;
    uint64_t nth;
    bool later;
    int code;
    uint64_t seen = 0;
};

class wish_list {
public:
    /* code_of: what the text of a code ("" where there is none) means for a call. */
    wish_list(const char *variable, int (*code_of)(const std::string &text, const std::string &call));
    int take(const char *call);           /* counts this call: the code that is wanted, or 0 */

private:
    std::mutex own;
    std::vector<wish> all;
};

}
#endif
