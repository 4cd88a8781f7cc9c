#include "families/qwen3_omni/networks.h"

namespace syrinx::qwen3_omni {

Networks::Networks(const ModelConfig& config, const Weights& root, WeightType type)
    : weights(root),
      tower(config.audio, root.scope("thinker.audio_tower"), at_least_8_bits(type)),
      thinker(config, root.scope("thinker"), type) {
  if (config.speaks) {
    talker.emplace(config, root.scope("talker"), thinker.table(), type);
    codec.emplace(config.codec, root.scope("code2wav"), at_least_8_bits(type));
  } else {
    root.ignore("talker.*");
    root.ignore("code2wav.*");
  }
  root.ignore("thinker.visual.*");
  root.finish();
}

}  // namespace syrinx::qwen3_omni
