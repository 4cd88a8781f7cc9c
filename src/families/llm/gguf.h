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
/// Makes the tokenizer from the file's metadata. Throws LoadError.
Tokenizer load_gguf_tokenizer(const GgufFile& file);
/// Answers end at the end of a text, of a turn or of a message; sampling is the API's.
Generation load_gguf_generation(const GgufFile& file);
/// Reads the file's chat template; nothing where it has none. Throws LoadError.
std::optional<ChatTemplate> load_gguf_template(const GgufFile& file);

/// Quantized numbers become f32 and exact, those of the table of ids f16, which is kept. The latest
/// eight of the other tensors are kept: a layer packs its tensors before the next one takes any.
std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file,
                                           const ModelConfig& config);

}  // namespace syrinx::llm
