#include "families/chatterbox/sound.h"

namespace syrinx::chatterbox {

Sound load_sound(const Weights& s3gen, const ModelConfig& config, const LoadSpec& spec) {
  Sound out;
  s3gen.build(
      [&] {
        {
          const AbsentTensors part = spec.part("flow");
          out.flow = std::make_unique<S3Flow>(config.flow, s3gen.scope("flow"),
                                              at_least_8_bits(spec.weights));
        }
        const AbsentTensors part = spec.part("vocoder");
        out.vocoder = std::make_unique<Hift>(config.hift, s3gen.scope("mel2wav"),
                                             at_least_8_bits(spec.weights));
      },
      {"tokenizer.*", "speaker_encoder.*"});  // for cloning; loaded with the first recording
  return out;
}

}  // namespace syrinx::chatterbox
