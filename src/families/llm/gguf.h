// Text models as llama.cpp keeps them, in the terms of the published layout: sizes, tokenizer, chat
// template and ids of ends are the file's metadata, tensors get the names of transformers. Throws
// LoadError for what is missing, contradictory or not supported.
// Names and permutations: ggml-org/llama.cpp:convert_hf_to_gguf.py, gguf-py/gguf/constants.py.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "families/llm/config.h"
#include "io/gguf.h"
#include "io/weights.h"
#include "text/tokens/chat_template.h"

namespace syrinx::llm {

/// How such files end.
inline constexpr const char* kGgufEnd = ".gguf";

ModelConfig load_gguf_config(const GgufFile& file);
Tokenizer load_gguf_tokenizer(const GgufFile& file);
/// Answers end at the end of a text, of a turn or of a message; sampling is the API's.
Generation load_gguf_generation(const GgufFile& file);
std::optional<ChatTemplate> load_gguf_template(const GgufFile& file);

/// Numbers in few bits are f32 and exact, of the table of ids f16, which is kept. Of the others the
/// latest eight that were taken are kept: a layer packs what it takes before the next one takes
/// any.
std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file,
                                           const ModelConfig& config);

}  // namespace syrinx::llm
