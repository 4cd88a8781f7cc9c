#include "families/qwen3_omni/networks.h"

namespace syrinx::qwen3_omni {
namespace {

/// The network that `make` builds as part `node` of the model.
template <typename Make>
auto built(const LoadSpec& spec, const char* node, Make&& make) {
  const AbsentTensors part = spec.part(node);
  return make();
}

}  // namespace

Networks::Networks(const ModelConfig& config, const Weights& root, const LoadSpec& spec)
    : weights(root),
      tower(built(spec, "tower",
                  [&] {
                    return Qwen3AudioTower(config.audio, root.scope("thinker.audio_tower"),
                                           at_least_8_bits(spec.weights));
                  })),
      thinker(built(spec, "thinker",
                    [&] { return Thinker(config, root.scope("thinker"), spec.weights); })) {
  const WeightType type = spec.weights;
  if (config.speaks) {
    {
      const AbsentTensors part = spec.part("talker");
      talker.emplace(config, root.scope("talker"), thinker.table(), type);
    }
    const AbsentTensors part = spec.part("code2wav");
    codec.emplace(config.codec, root.scope("code2wav"), at_least_8_bits(type));
  } else {
    root.ignore("talker.*");
    root.ignore("code2wav.*");
  }
  root.ignore("thinker.visual.*");
  root.finish();
}

}  // namespace syrinx::qwen3_omni
