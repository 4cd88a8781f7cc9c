// The contents of a CosyVoice2 checkpoint's cosyvoice2.yaml and CosyVoice-BlankEN/config.json.
// Plain data, checked when read. Throws LoadError for values that are missing, contradictory or not
// supported.
#pragma once

#include <cstdint>
#include <string>

#include "codec/hift.h"
#include "codec/s3_flow_config.h"
#include "kernels/sample.h"
#include "nn/decoder.h"

namespace syrinx::cosyvoice2 {

struct ModelConfig {
  DecoderConfig decoder;   ///< Qwen2
  int64_t text_vocab = 0;  ///< rows of the text table
  int64_t max_positions = 0;
  int64_t speech_codes = 6561;  ///< S: codes are [0, S); id S ends speech, S + 2 asks for more text
  S3FlowConfig flow;
  HiftConfig hift;
  SampleParams sampling;  ///< the authors' defaults

  /// Returns the number of ids that the language model can sample, S + 3.
  int64_t speech_vocab() const { return speech_codes + 3; }
};

/// Folder of the tokenizer and of the language model's config inside a checkpoint.
inline constexpr const char* kTokenizerFolder = "CosyVoice-BlankEN";

/// Reads both files in `dir`.
ModelConfig load_config(const std::string& dir);

}  // namespace syrinx::cosyvoice2
