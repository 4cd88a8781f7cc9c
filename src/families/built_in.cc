#include <array>

#include "families/family.h"
#include "families/finch/finch.h"
#include "families/model_file.h"
#include "families/unfinished.h"

namespace syrinx {

// Returns the families of a program with built-in models only (SYRINX_BUILT_IN_ONLY). families.cc
// lists all families.
std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"finch", finch::claims, finch::load, "config.json", false}};
  return kFamilies;
}

const Family* family_of_file(const std::string&) { return nullptr; }

std::span<const Unfinished> unfinished() { return {}; }

}  // namespace syrinx
