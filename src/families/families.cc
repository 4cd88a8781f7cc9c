#include <array>

#include "families/family.h"
#include "families/finch/finch.h"

namespace syrinx {

// A new family adds its header above and its row here.
std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"finch", finch::claims, WeightType::kF32, finch::load},
  };
  return kFamilies;
}

}  // namespace syrinx
