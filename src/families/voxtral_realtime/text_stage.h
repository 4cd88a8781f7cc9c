// The language model of Voxtral Realtime as an AR stage: a step reads the row of a token and the
// last id of the text, and yields the next id. The first step of a recording reads the rows of its
// prompt. The delay of a request conditions the norms before the MLPs (adaptive RMS norm). The
// sequence has the keys and values of the last tokens, as many as the window, so no engine cache
// exists and a recording may be of any length. The rows of the silence before recordings, which are
// equal, are computed once for each delay. Source: transformers:models/voxtral_realtime. Const
// after construction. CPU only. H width, L layers, R inner width of the conditions.
#pragma once

#include <memory>
#include <vector>

#include "base/remembered.h"
#include "families/voxtral_realtime/config.h"
#include "kernels/packed_matrix.h"
#include "model/stage.h"
#include "nn/stream_decoder.h"

namespace syrinx::voxtral_realtime {

class Transcription;

class TextStage : public ArStage {
 public:
  /// `weights`: the scope of the language model. It must outlive this object.
  TextStage(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Opens the keys and values of a recording.
  StreamKv open() const { return decoder_.open(); }
  /// Computes the weights [L, H] of the norms before the MLPs for a delay, in tokens.
  Tensor norms(int delay) const;

  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  size_t bytes() const { return decoder_.bytes() + table_.bytes() + head_.bytes(); }

  static constexpr int64_t kInner = 32;  ///< R, which no config has

 private:
  /// The condition of a block: norm * (1 + up gelu(down t)).
  struct Condition {
    Tensor norm, down, up;  // [H], [R, H], [H, R]
  };

  /// The keys and values of a prompt's first rows, and the rows.
  struct Silence {
    std::vector<float> rows;
    StreamKv kv;
  };
  int64_t begin_silent(StepContext& ctx, Transcription& sequence) const;

  ModelConfig config_;
  ArTraits traits_;
  StreamDecoder decoder_;
  std::vector<Condition> conditions_;
  View table_;  // [ids, H]
  PackedLinear head_;
  mutable Remembered<int, const Silence> silences_{size_t{1} << 30};  // by delay
};

}  // namespace syrinx::voxtral_realtime
