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
  text.only("model_type", "qwen3");
  audio.only("encoder_type", "discrete");
  m.lm = load_llama_config(text, kTheta);
  m.lm.head_dim = text.opt_i<int>("head_dim", kQwen3HeadDim, 8, 256);
  m.lm.qk_norm = true;
  m.lm.rope.bf16 = true;  // as in training, also if the weights have another type
  m.vocab = text.i("vocab_size", 1, 1 << 24);
  m.max_positions =
      std::min(text.opt_i("max_position_embeddings", kTrained, 64, 1 << 24), kTrained);
  m.lm.rope_positions = m.max_positions;
  m.codebooks = audio.i("num_codebooks", 1, 64);
  m.codes = audio.i("vocab_size", 3, 1 << 16);
  audio.same("out_dim", m.lm.hidden, "hidden_size of text_config");
  audio.only("tie_word_embeddings", true);
  audio.only("use_delay_pattern", true);
  return m;
}

}  // namespace syrinx::higgs
