// Sizes of a Chatterbox checkpoint, which has no config file. Most sizes are read from the
// shapes of tensors; the authors' code fixes the others. Plain data. Source:
// chatterbox:src/chatterbox/models/t3/{llama_configs.py,modules/t3_config.py},
// s3gen/s3gen.py.
#pragma once

#include <string>

#include "codec/hift.h"
#include "codec/s3_flow_config.h"
#include "nn/decoder.h"

namespace syrinx::chatterbox {

inline constexpr int32_t kStartText = 255, kStopText = 0;
inline constexpr int32_t kSpeechCodes = 6561;  ///< number of S3 tokens; their ids are below it
inline constexpr int32_t kStartSpeech = 6561, kStopSpeech = 6562;
inline constexpr int64_t kMostSteps = 1000;

/// An edition: one of several models with this network.
struct Edition {
  const char* family = "chatterbox";
  const char* marker = "t3_cfg.safetensors";  ///< the language model's file identifies the edition
  const char* tokenizer = "tokenizer.json";
  bool multilingual = false;
  float repetition_penalty = 1.2f;
};
inline constexpr Edition kEnglishEdition;
inline constexpr Edition kMultilingualEdition{.family = "chatterbox_multilingual",
                                              .marker = "t3_mtl23ls_v2.safetensors",
                                              .tokenizer = "grapheme_mtl_merged_expanded_v1.json",
                                              .multilingual = true,
                                              .repetition_penalty = 2};

/// Sizes and ids of the language model.
struct ModelConfig {
  Edition edition;
  DecoderConfig decoder;  ///< Llama, with learned positions besides RoPE
  int64_t text_vocab = 704, text_positions = 2050;
  int64_t speech_vocab = 8194, speech_positions = 4100;
  int64_t speaker = 256;  ///< width of the voice encoder's vector
  int64_t queries = 32;   ///< queries of the perceiver
  int64_t perceiver_heads = 4;
  bool emotion = true;  ///< whether a voice has a degree of emotion
  S3FlowConfig flow;
  HiftConfig hift;

  /// Returns the largest number of rows that a voice, a text and its speech have together.
  int64_t max_positions() const { return 2 + queries + text_positions + speech_positions; }
};

/// Reads the shapes in t3_cfg.safetensors and s3gen.safetensors. Sizes of missing tensors keep
/// their published values; the layers then report these tensors.
ModelConfig read_config(const Weights& t3, const Weights& s3gen);
/// Reads only the shapes in s3gen.safetensors. A flow with a time mixer is a distilled "mean flow",
/// which takes two steps.
void read_codec(const Weights& s3gen, ModelConfig& config);

/// Reads size `dim` of a tensor, if the tensor exists and has such a dimension.
void read_size(const Weights& weights, const std::string& name, int dim, int64_t& out);
void read_size(const Weights& weights, const std::string& name, int dim, int& out);

}  // namespace syrinx::chatterbox
