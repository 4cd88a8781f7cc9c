// Whisper in the terms of its authors' package: a .pt file, whose vocabulary
// (multilingual.tiktoken, or gpt2.tiktoken for English only) lies beside it as in the package, or
// else a tokenizer.json; or a file of whisper.cpp, which holds its own. Which ids are what follows
// from their order. Throws LoadError. Formulas: openai/whisper:whisper/tokenizer.py,
// whisper/decoding.py (_get_suppress_tokens).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "families/whisper/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::whisper {

/// How such files end.
inline constexpr std::string_view kTorchEnd = ".pt", kGgmlEnd = ".bin";

/// A model in the terms of transformers.
struct OpenAiModel {
  ModelConfig config;
  Generation generation;
  Tokenizer tokenizer;
  std::unique_ptr<WeightSource> weights;
};

/// Opens a file of either kind.
OpenAiModel open_openai(const std::string& path);

}  // namespace syrinx::whisper
