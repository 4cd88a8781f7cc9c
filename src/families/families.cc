#include <array>

#include "families/family.h"
#include "families/finch/finch.h"

namespace syrinx {

// A new family adds its declaration and its row here.
std::span<const Family> families() {
  static const std::array all = {finch::family()};
  return all;
}

}  // namespace syrinx
