// The network that makes frames of codes beside a text: a decoder gives code 0 of a step. The
// predictor, a small decoder that starts again in every step, gives the other codes, one after
// another. Shared by Qwen3-TTS and Qwen3-Omni. C codes a frame, H talker width.
#pragma once

#include <memory>

#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::qwen3_tts {

/// Sizes. Plain data.
struct PredictorConfig {
  DecoderConfig decoder;
  int64_t wide = 0;        ///< H; inputs are projected if the predictor has another width
  int64_t codebooks = 0;   ///< C
  int64_t code_vocab = 0;  ///< vocabulary of each code after the first
};
/// Sizes of decoder and predictor.
struct TalkerSizes {
  DecoderConfig decoder;
  PredictorConfig predictor;
  int64_t vocab = 0;  ///< vocabulary of code 0, including ids that are not codes
  int64_t max_positions = 0;
};

/// Loads the predictor. `weights` is the scope "talker.code_predictor", `first` the table of code
/// 0; both must outlive the result.
InnerCodes load_predictor(const PredictorConfig& config, const Weights& weights, const View& first,
                          WeightType type);
/// Loads the talker. `weights` is the scope "talker" and must outlive the result. A row is C codes
/// and a text id.
std::unique_ptr<CodecLm> load_talker(const TalkerSizes& sizes, const Weights& weights,
                                     std::unique_ptr<TextBeside> beside, WeightType type);

}  // namespace syrinx::qwen3_tts
