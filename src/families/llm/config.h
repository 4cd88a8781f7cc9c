// The contents of a text model's config.json and generation_config.json (architectures.h has the
// kinds). Throws LoadError for values that are missing, contradictory or not supported.
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
  const char* blocks = "model";  ///< scope of the decoder's tensors
  const char* table = "model.embed_tokens.weight";
  const char* head = "lm_head.weight";
};

/// Sizes of a text model. Plain data.
struct ModelConfig {
  std::string type;  ///< model_type: llama, qwen2, ...
  DecoderConfig lm;
  int64_t vocab = 0;  ///< number of ids; may exceed the number of the tokenizer's ids
  int64_t max_positions = 0;
  bool tied = false;                         ///< the head uses the embedding table
  float table_scale = 1;                     ///< factor of the embedding rows
  float logit_cap = 0;                       ///< logits become cap * tanh(logit / cap); 0: no cap
  std::optional<QuantizedLayout> quantized;  ///< layout of quantized linear weights: GPTQ or AWQ
  ModelNames names = {};
};

/// Returns whether a config.json belongs to a text model of a kind in architectures.h. Orpheus has
/// such a config, too, so families that are special cases must come before this family.
bool claims(const Config& root);
/// Reads and checks the sizes of a config.json. Throws LoadError.
ModelConfig load_model_config(const Config& root);
/// Does the same for a model of the given type, even if the config's model_type is another one.
ModelConfig load_model_config_as(const std::string& type, const Config& root);

/// The default sampling of a checkpoint, and the ids that end its answers.
struct Generation {
  /// from generation_config.json; the API's defaults if values are missing
  SampleParams sampling;
  std::vector<int32_t> ends;  ///< end ids of generation_config, config and tokenizer, sorted
};
/// Reads the files. generation_config.json and tokenizer_config.json may be missing.
Generation load_generation(const std::string& dir, const Config& root, const Tokenizer& tokenizer);

}  // namespace syrinx::llm
