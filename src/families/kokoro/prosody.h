// The part of Kokoro that reads phonemes: it computes the features of each (text encoder), its
// prosody (PL-BERT and the encoder of durations), and its length in frames of 25 ms. Utterances of
// different lengths run together; the bits of an utterance do not depend on the others. Const after
// construction; shared by threads. T: phonemes of an utterance, including the first and last id 0;
// H: config.hidden.
// Source: kokoro 0.9.4, kokoro/model.py (KModel.forward_with_tokens) and kokoro/modules.py.
#pragma once

#include <span>
#include <vector>

#include "families/kokoro/albert.h"
#include "families/kokoro/layers.h"

namespace syrinx::kokoro {

/// One utterance to be read.
struct ProsodyJob {
  std::span<const int32_t> ids;  ///< [T]; the first and last id are 0
  std::span<const float> style;  ///< [config.style], the second half of a voice's row
  float speed = 1;               ///< divisor of the durations
  /// Written: [T, 2 H], the prosody of each phoneme, then its features.
  std::vector<float> features = {};
  std::vector<int32_t> frames = {};   ///< Written: [T], at least 1 each.
  std::vector<float> durations = {};  ///< Written: [T], frames of each phoneme before rounding.
};

/// The networks for durations, pitch and energy, with their weights.
class Prosody {
 public:
  Prosody() = default;
  /// Scope: the checkpoint. Reads bert, bert_encoder, text_encoder and parts of predictor.
  Prosody(const KokoroConfig& config, const Weights& weights, WeightType type);

  void run(StepContext& ctx, std::span<ProsodyJob> jobs) const;
  size_t bytes() const;

 private:
  struct TextConv {
    PaddedConv conv;
    Tensor gamma, beta;
  };
  struct DurationLayer {
    BiLstm lstm;
    PackedLinear style;
  };
  void read_text(StepContext& ctx, std::span<const int32_t> ids, const View& out) const;
  void read_prosody(StepContext& ctx, const View& meant, ProsodyJob& job) const;

  int64_t hidden_ = 0, style_ = 0, longest_ = 0;
  Albert bert_;
  PackedLinear bert_out_;
  Embedding phonemes_;
  std::vector<TextConv> convs_;
  BiLstm text_lstm_, duration_lstm_;
  std::vector<DurationLayer> layers_;
  PackedLinear duration_;
};

}  // namespace syrinx::kokoro
