#include "families/chatterbox/sound.h"

#include "families/loading/checkpoint.h"

namespace syrinx::chatterbox {

Sound load_sound(const Weights& s3gen, const ModelConfig& config, const LoadSpec& spec) {
  Sound out;
  s3gen.build(
      [&] {
        const WeightType type = at_least_8_bits(spec.weights);
        out.flow = spec.part("flow", [&] {
          return std::make_unique<S3Flow>(config.flow, s3gen.scope("flow"), type);
        });
        out.vocoder = spec.part("vocoder", [&] {
          return std::make_unique<Hift>(config.hift, s3gen.scope("mel2wav"), type);
        });
      },
      {"tokenizer.*", "speaker_encoder.*"});  // for cloning; loaded with the first recording
  move_networks(spec, "flow", *out.flow, "vocoder", *out.vocoder);
  return out;
}

}  // namespace syrinx::chatterbox
