/* Small tools for text. */
#ifndef CUDAEMU_PTX_TEXT_H
#define CUDAEMU_PTX_TEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

std::string trim(const std::string &s);
/* At every c that is not within brackets. */
std::vector<std::string> split(const std::string &s, char c);
/* At blanks. */
std::vector<std::string> words(const std::string &s);
/* "(a, b)": a and b. */
std::vector<std::string> within(const std::string &s);
/* A constant (section 4.5): an integer, 0f3F800000 or 0d3FF0000000000000.  False if it is none. */
bool number(const std::string &s, uint64_t &v);
/* Without comments and the directives that mean nothing here; every line keeps its number. */
std::string clean(const std::string &s);
int line_of(const std::string &s, size_t at);

}
#endif
