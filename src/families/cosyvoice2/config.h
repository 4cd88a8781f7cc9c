// The contents of cosyvoice2.yaml or cosyvoice3.yaml and of CosyVoice-BlankEN/config.json.
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

/// Differences between the generations of the model, apart from sizes.
struct Edition {
  const char* family = "cosyvoice2";
  const char* marker = "cosyvoice2.yaml";  ///< the config file's name identifies a checkpoint
  const char* tokenizer = "speech_tokenizer_v2.onnx";
  /// Whether it is Fun-CosyVoice3. In that edition, prompts begin with a system sentence, marks
  /// have rows in the table of speech, the flow has a transformer, and the vocoder is causal.
  bool third = false;
};
inline constexpr Edition kSecondEdition;
inline constexpr Edition kThirdEdition{.family = "cosyvoice3",
                                       .marker = "cosyvoice3.yaml",
                                       .tokenizer = "speech_tokenizer_v3.onnx",
                                       .third = true};

struct ModelConfig {
  Edition edition;
  DecoderConfig decoder;   ///< Qwen2
  int64_t text_vocab = 0;  ///< rows of the text table
  int64_t max_positions = 0;
  int64_t speech_codes = 6561;  ///< S: codes are [0, S); every id from S on ends a part
  double mel_top_hz = 8000;     ///< highest frequency of the mel of recordings
  S3FlowConfig flow;
  HiftConfig hift;
  SampleParams sampling;  ///< the defaults of the authors' code

  /// Returns the number of ids that the language model can sample.
  int64_t speech_vocab() const { return speech_codes + (edition.third ? 200 : 3); }
  /// Return rows of the table of control ids. In the third edition, it is the table of speech.
  int32_t begin_row() const { return static_cast<int32_t>(edition.third ? speech_codes : 0); }
  int32_t task_row() const { return static_cast<int32_t>(edition.third ? speech_codes + 2 : 1); }
  /// Returns the id that ends speech.
  int32_t end_id() const { return static_cast<int32_t>(speech_codes + (edition.third ? 1 : 0)); }
};

/// Folder in a checkpoint with the tokenizer and the language model's config.
inline constexpr const char* kTokenizerFolder = "CosyVoice-BlankEN";

/// Reads both config files in `dir`. Throws LoadError.
ModelConfig load_config(const std::string& dir, const Edition& edition = kSecondEdition);

}  // namespace syrinx::cosyvoice2
