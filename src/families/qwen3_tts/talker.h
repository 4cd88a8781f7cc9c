// The network that makes frames of codes beside a text. A decoder makes code 0 of a step. The
// predictor, a small decoder that starts again in every step, makes the other codes, one after
// another. Shared by Qwen3-TTS and Qwen3-Omni. C: codes per frame. H: width of the talker.
#pragma once

#include <memory>

#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::qwen3_tts {

/// Sizes of the predictor. Plain data.
struct PredictorConfig {
  DecoderConfig decoder;
  int64_t wide = 0;        ///< H; inputs are projected if the predictor's width differs
  int64_t codebooks = 0;   ///< C
  int64_t code_vocab = 0;  ///< vocabulary of each code after the first
};
/// Sizes of the decoder and the predictor.
struct TalkerSizes {
  DecoderConfig decoder;
  PredictorConfig predictor;
  int64_t vocab = 0;  ///< vocabulary of code 0, with ids that are not codes
  int64_t max_positions = 0;
};

/// Loads the predictor. `weights`: the scope "talker.code_predictor". `first`: the table of code 0.
/// Both must outlive the result.
InnerCodes load_predictor(const PredictorConfig& config, const Weights& weights, const View& first,
                          WeightType type);
/// Loads the talker. `weights`: the scope "talker", which must outlive the result. A row has C
/// codes and a text id.
std::unique_ptr<CodecLm> load_talker(const TalkerSizes& sizes, const Weights& weights,
                                     std::unique_ptr<TextBeside> beside, WeightType type);

}  // namespace syrinx::qwen3_tts
