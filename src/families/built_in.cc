#include <array>

#include "families/family.h"
#include "families/finch/finch.h"
#include "families/unfinished.h"

namespace syrinx {

// The families of programs with built-in models alone (SYRINX_BUILT_IN_ONLY); families.cc has all.
std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"finch", finch::claims, finch::load, "config.json", false}};
  return kFamilies;
}

std::span<const Unfinished> unfinished() { return {}; }

}  // namespace syrinx
