#include "families/omnivoice/config.h"

#include <algorithm>

#include "base/error.h"
#include "families/loading/checkpoint.h"
#include "nn/llama_config.h"

namespace syrinx::omnivoice {
namespace {

constexpr double kTheta = 1e6;          // value of Qwen3, used if the config has none
constexpr int64_t kQwen3HeadDim = 128;  // used if the config has none
constexpr int64_t kMostPositions = 1 << 14;

}  // namespace

bool claims(const Config& root) { return model_type(root) == "omnivoice"; }

ModelConfig load_model_config(const Config& root) {
  const Config text = root.sub("llm_config");
  ModelConfig m;
  text.only("model_type", text.s("model_type") == "qwen3", "qwen3");
  m.lm = load_llama_config(text, kTheta);
  m.lm.head_dim = text.opt_i<int>("head_dim", kQwen3HeadDim, 8, 256);
  m.lm.qk_norm = true;
  m.lm.causal = false;
  m.vocab = text.i("vocab_size", 1, 1 << 24);
  m.positions =
      std::min(text.opt_i("max_position_embeddings", kMostPositions, 64, 1 << 24), kMostPositions);
  m.lm.rope_positions = std::min<int64_t>(m.positions, 4096);
  text.only("use_sliding_window", false);
  m.codebooks = root.i("num_audio_codebook", 1, 32);
  m.choices = root.i("audio_vocab_size", 3, 1 << 16);
  m.mask = root.i<int32_t>("audio_mask_id", 0, 1 << 16);
  root.check("audio_mask_id", m.mask == m.codes(),
             concat("expected ", m.codes(), ", the last of audio_vocab_size; got ", m.mask));
  return m;
}

}  // namespace syrinx::omnivoice
