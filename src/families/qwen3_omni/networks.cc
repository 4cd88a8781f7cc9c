#include "families/qwen3_omni/networks.h"

#include "families/llm/language_model.h"

namespace syrinx::qwen3_omni {
namespace {

std::unique_ptr<CodecLm> load_talker(const ModelConfig& config, const Weights& weights,
                                     const View& text_table, WeightType type) {
  const TalkerConfig& c = config.talker;
  const auto projection = [&](const char* name) {
    return ResizeMlp(weights.scope(name), c.thinker_hidden, c.inner, c.decoder.hidden, type);
  };
  return qwen3_tts::load_talker(
      c, weights,
      std::make_unique<TextBeside>(
          text_table, projection("text_projection"),
          std::vector<int32_t>{config.text.tts_pad, config.text.tts_bos, config.text.tts_eos},
          projection("hidden_projection")),
      type);
}

}  // namespace

Networks::Networks(const ModelConfig& config, const Weights& root, const LoadSpec& spec)
    : weights(root),
      tower(spec.part("tower",
                      [&] {
                        return Qwen3AudioTower(config.audio, root.scope("thinker.audio_tower"),
                                               at_least_8_bits(spec.weights));
                      })),
      thinker(spec.part("thinker", [&] {
        return llm::load_language_model(config.thinker, root.scope("thinker"), spec.weights,
                                        config.speaks ? config.talker.accept_layer : -1);
      })) {
  const WeightType type = spec.weights;
  if (config.speaks) {
    talker = spec.part("talker", [&] {
      return load_talker(config, root.scope("talker"), thinker->table(0), type);
    });
    spec.part("code2wav",
              [&] { codec.emplace(config.codec, root.scope("code2wav"), at_least_8_bits(type)); });
  } else {
    root.ignore("talker.*");
    root.ignore("code2wav.*");
  }
  root.ignore("thinker.visual.*");
  root.finish();
}

}  // namespace syrinx::qwen3_omni
