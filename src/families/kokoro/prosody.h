// The part of Kokoro that reads phonemes. It computes the features of each phoneme (text encoder),
// its prosody (PL-BERT and the encoder of durations), and its length in frames of 25 ms. Utterances
// of different lengths run together; the bits of an utterance do not depend on the others. Const
// after construction; shared by threads. T: phonemes of an utterance, including the id 0 at both
// ends. H: config.hidden. Source: kokoro 0.9.4, kokoro/model.py (KModel.forward_with_tokens) and
// kokoro/modules.py.
#pragma once

#include <span>
#include <vector>

#include "families/kokoro/albert.h"
#include "families/kokoro/layers.h"

namespace syrinx::kokoro {

/// One utterance that Prosody processes.
struct ProsodyJob {
  std::span<const int32_t> ids;  ///< [T]; the first and last id are 0
  std::span<const float> style;  ///< [config.style], the second half of a voice's row
  float speed = 1;               ///< divisor of the durations
  /// Output [T, 2 H]: the prosody of each phoneme, then its features.
  std::vector<float> features = {};
  std::vector<int32_t> frames = {};   ///< output [T], at least 1 frame for each phoneme
  std::vector<float> durations = {};  ///< output [T], frames of each phoneme before rounding
};

/// The networks for durations, pitch and energy, with their weights.
class Prosody {
 public:
  Prosody() = default;
  /// Loads bert, bert_encoder, text_encoder and parts of predictor from a checkpoint.
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
