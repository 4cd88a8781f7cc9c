// Whisper in the formats of its authors' package and of whisper.cpp. A .pt file of the package
// needs a vocabulary in the same directory: multilingual.tiktoken (gpt2.tiktoken for English only)
// or a tokenizer.json. A file of whisper.cpp contains its vocabulary. The special ids follow from
// their order. Throws LoadError. Formulas: openai/whisper:whisper/tokenizer.py, whisper/decoding.py
// (_get_suppress_tokens).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "families/whisper/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::whisper {

/// The endings of the names of .pt files and of ggml files.
inline constexpr std::string_view kTorchEnd = ".pt", kGgmlEnd = ".bin";

/// A model, converted to the form of the transformers layout.
struct OpenAiModel {
  ModelConfig config;
  Generation generation;
  Tokenizer tokenizer;
  std::unique_ptr<WeightSource> weights;
};

/// Opens a file in either format.
OpenAiModel open_openai(const std::string& path);

}  // namespace syrinx::whisper
