#include "families/higgs/config.h"

#include <algorithm>

#include "families/loading/checkpoint.h"
#include "nn/llama_config.h"

namespace syrinx::higgs {
namespace {

constexpr double kTheta = 1e6;          // used if the config has null, like the published config
constexpr int64_t kTrained = 8192;      // most positions in training
constexpr int64_t kQwen3HeadDim = 128;  // used if the config has no such value

}  // namespace

DelayPattern ModelConfig::delays() const {
  return {DelayPattern::staggered(static_cast<int>(codebooks)),
          {begin(), end(), end()},
          DelayDrain::kEmitted};
}

bool claims(const Config& root) { return model_type(root) == "higgs_multimodal_qwen3"; }

ModelConfig load_model_config(const Config& root) {
  const Config text = root.sub("text_config"), audio = root.sub("audio_encoder_config");
  ModelConfig m;
  if (const std::string type = text.opt_s("model_type", "qwen3"); type != "qwen3") {
    text.fail("model_type", "expected qwen3, got " + type);
  }
  if (const std::string kind = audio.opt_s("encoder_type", "discrete"); kind != "discrete") {
    audio.fail("encoder_type", "is " + kind + "; only discrete, which speaks, is supported");
  }
  m.lm = load_llama_config(text, kTheta);
  m.lm.head_dim = static_cast<int>(text.opt_i("head_dim", kQwen3HeadDim, 8, 256));
  m.lm.qk_norm = true;
  m.lm.rope.bf16 = true;  // as in training, also if the weights have another type
  m.vocab = text.i("vocab_size", 1, 1 << 24);
  m.max_positions =
      std::min(text.opt_i("max_position_embeddings", kTrained, 64, 1 << 24), kTrained);
  m.lm.rope_positions = m.max_positions;
  m.codebooks = audio.i("num_codebooks", 1, 64);
  m.codes = audio.i("vocab_size", 3, 1 << 16);
  if (audio.opt_i("out_dim", m.lm.hidden, 1) != m.lm.hidden) {
    audio.fail("out_dim", "must be text_config.hidden_size, " + std::to_string(m.lm.hidden));
  }
  if (!audio.opt_b("tie_word_embeddings", true)) {
    audio.fail("tie_word_embeddings", "only tied tables are supported");
  }
  if (!audio.opt_b("use_delay_pattern", true)) {
    audio.fail("use_delay_pattern", "only models with a delay pattern are supported");
  }
  return m;
}

}  // namespace syrinx::higgs
