#include <array>

#include "families/family.h"

namespace syrinx {

namespace qwen3_tts {
bool claims(const Config& root);
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);
}  // namespace qwen3_tts

// A new family adds its declaration above and its row here.
std::span<const Family> families() {
  static constexpr std::array kFamilies{
      Family{"qwen3_tts", qwen3_tts::claims, WeightType::kBF16, qwen3_tts::load},
  };
  return kFamilies;
}

}  // namespace syrinx
