// Text models in llama.cpp's format, converted to the published layout. Sizes, tokenizer, chat
// template and end ids come from the file's metadata. Tensors get their names in transformers.
// Throws LoadError for values that are missing, contradictory or not supported. Names and
// permutations: ggml-org/llama.cpp:convert_hf_to_gguf.py, gguf-py/gguf/constants.py.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "families/llm/config.h"
#include "io/gguf.h"
#include "io/weights.h"
#include "text/tokens/chat_template.h"

namespace syrinx::llm {

/// The ending of the names of GGUF files.
inline constexpr const char* kGgufEnd = ".gguf";

ModelConfig load_gguf_config(const GgufFile& file);
/// Makes the tokenizer from the file's metadata. `absent_pre`: used if the file does not name the
/// rule that cuts a text into pieces (tokenizer.ggml.pre); empty: then throws LoadError.
Tokenizer load_gguf_tokenizer(const GgufFile& file, std::string_view absent_pre = {});
/// Reads the ids that end an answer: the ends of a text, a turn and a message. Sampling has the
/// API's defaults.
Generation load_gguf_generation(const GgufFile& file);
/// Reads the file's chat template. Returns nullopt if the file has none. Throws LoadError.
std::optional<ChatTemplate> load_gguf_template(const GgufFile& file);

/// Returns the file's tensors (io/gguf_weights.h) under the names of networks.
std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file,
                                           const ModelConfig& config);

}  // namespace syrinx::llm
