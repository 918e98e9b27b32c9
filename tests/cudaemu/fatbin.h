/* The container in which nvcc puts machine code and PTX into a program. */
#ifndef CUDAEMU_FATBIN_H
#define CUDAEMU_FATBIN_H

#include <cstdint>
#include <string>

namespace emu {

bool is_fatbin(const void *data);
/* The PTX for the newest architecture in it, or "" with why in *why. */
std::string newest_ptx(const void *data, std::string *why);

}
#endif
