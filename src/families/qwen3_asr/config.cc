#include "families/qwen3_asr/config.h"

#include <nlohmann/json.hpp>

#include "families/loading/checkpoint.h"

namespace syrinx::qwen3_asr {
namespace {

constexpr const char* kNoAligner =
    "this is a forced aligner, which gives words their times and writes no text; expected a "
    "Qwen3-ASR model";

/// Throws LoadError if the model is the forced aligner, in either layout.
void refuse_aligner(const Config& root, const Config& whole) {
  whole.check("classify_num", !whole.has("classify_num"), kNoAligner);
  if (!root.has("architectures")) return;
  for (const std::string& each : root.strings("architectures")) {
    root.check("architectures", !each.ends_with("ForTokenClassification"), kNoAligner);
  }
}

}  // namespace

bool claims(const Config& root) { return model_type(root) == "qwen3_asr"; }

ModelConfig load_model_config(const Config& root) {
  ModelConfig m;
  const auto thinker = root.opt_sub("thinker_config");
  m.converted = !thinker;
  const Config& whole = thinker ? *thinker : root;
  refuse_aligner(root, whole);
  const Config text = whole.sub("text_config");
  for (const Config* part : {&root, &whole, &text}) {
    if (part->has("quantization_config")) part->fail("quantization_config", "is not supported");
  }
  m.text = llm::load_model_config_as("qwen3", text);
  if (m.converted) {
    m.text.tied = root.opt_b("tie_word_embeddings", true);
    m.text.names = {.blocks = "model.language_model",
                    .table = "model.language_model.embed_tokens.weight"};
  }
  m.audio = Qwen3AudioConfig::load(whole.sub("audio_config"));
  m.audio.fills_first = m.converted;
  whole.check("audio_config.output_dim", m.audio.out == m.text.lm.hidden,
              "must be the text model's width, " + std::to_string(m.text.lm.hidden));
  m.audio_id = whole.i<int32_t>("audio_token_id", 0, m.text.vocab - 1);
  return m;
}

}  // namespace syrinx::qwen3_asr
