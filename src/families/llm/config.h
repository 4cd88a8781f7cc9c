// What config.json and generation_config.json of a text model say (architectures.h has its kinds).
// Throws LoadError for what is missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"
#include "io/quantized_weights.h"
#include "kernels/sample.h"
#include "nn/decoder.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

/// Names of the parts of a text model in a checkpoint.
struct ModelNames {
  const char* blocks = "model";  ///< scope of the decoder
  const char* table = "model.embed_tokens.weight";
  const char* head = "lm_head.weight";
};

/// Sizes. Plain data.
struct ModelConfig {
  std::string type;  ///< model_type: llama, qwen2, ...
  DecoderConfig lm;
  int64_t vocab = 0;  ///< may be more than the tokenizer has
  int64_t max_positions = 0;
  bool tied = false;      ///< the head is the embedding table
  float table_scale = 1;  ///< of rows of the table
  float logit_cap = 0;    ///< logits become cap * tanh(logit / cap); 0: they stay
  std::optional<QuantizedLayout> quantized;  ///< the linears, as GPTQ and AWQ publish them
  ModelNames names = {};
};

/// Whether this config.json is that of a dense text model of these types. That of Orpheus is one
/// too: families that mean something more by it come before this one.
bool claims(const Config& root);
/// Reads and checks the sizes of a config.json. Throws LoadError.
ModelConfig load_model_config(const Config& root);

/// How a checkpoint wants to be sampled, and where its answers end.
struct Generation {
  SampleParams sampling;      ///< where generation_config.json says nothing: as the API has it
  std::vector<int32_t> ends;  ///< ids, sorted; those of generation_config, config and tokenizer
};
/// generation_config.json and tokenizer_config.json may be missing.
Generation load_generation(const std::string& dir, const Config& root, const Tokenizer& tokenizer);

}  // namespace syrinx::llm
