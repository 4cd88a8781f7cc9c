// PL-BERT: an ALBERT, whose only layer runs several times. It runs over the phonemes of several
// utterances of different lengths at once. Const after construction; shared by threads. A row's
// bits depend only on its own utterance. N is the number of rows of all utterances together.
// Source: transformers 5.24, models/albert/modeling_albert.py; GELU with tanh, epsilon 1e-12.
#pragma once

#include <span>

#include "families/kokoro/config.h"
#include "kernels/linear.h"
#include "nn/layers.h"

namespace syrinx::kokoro {

class Albert {
 public:
  Albert() = default;
  /// Loads scope "bert" as published. `tokens`: rows of the embedding table.
  Albert(const AlbertSizes& sizes, int64_t tokens, const Weights& weights, WeightType type);

  /// Reads ids [N] and writes out [N, hidden]. Utterance b has the rows [row_begin[b], row_begin[b
  /// + 1]), whose positions begin with 0.
  void run(StepContext& ctx, std::span<const int32_t> ids, std::span<const int32_t> row_begin,
           const View& out) const;
  size_t bytes() const;

 private:
  AlbertSizes sizes_;
  Embedding words_, positions_;
  Tensor kind_;  // [1, embedding], added to all rows
  LayerNorm first_norm_, attention_norm_, last_norm_;
  PackedLinear in_, qkv_, attended_, up_, down_;
};

}  // namespace syrinx::kokoro
