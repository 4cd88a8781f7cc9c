#include "base/check.h"

#include <cstring>

namespace syrinx {

void check_failed(const char* file, int line, const std::string& what) {
  const char* name = std::strrchr(file, '/');
  throw InternalError(concat(name ? name + 1 : file, ":", line, ": ", what));
}

}  // namespace syrinx
