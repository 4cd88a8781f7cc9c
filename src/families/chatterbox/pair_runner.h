// For tests: Chatterbox's language model alone, with the logits of a guided request merged.
#pragma once

#include <vector>

#include "families/chatterbox/pipeline.h"
#include "kernels/sample.h"
#include "model/sequence.h"

namespace syrinx::chatterbox {

/// The language model alone, with a request and its companion.
struct PairRunner {
  explicit PairRunner(const Chatterbox& m) : model(m), kv(m.lm().traits().kv[0], 2 * kPages) {
    for (int32_t page = 0; page < 2 * kPages; ++page) pages.push_back(page);
  }

  /// Returns the merged logits of the step after rows [begin, end).
  std::vector<float> step(Sequence& state, int begin, int end) {
    arena.reset();
    const int count = state.guidance() ? 2 : 1, rows = end - begin;
    const ArSeq seqs[] = {{&state, begin, rows, true, false}, {&state, begin, rows, true, true}};
    const int32_t row_begin[] = {0, rows, 2 * rows}, kv_len[] = {end, end};
    const auto n = static_cast<size_t>(count);
    const Ragged ragged{
        {row_begin, n + 1}, {kv_len, n}, std::span(pages).first(n * kPages), kPages};
    const ArBatch batch{{seqs, n}, count * rows, count, ragged, {&kv, 1}, {}};
    const View hidden = arena.take({count, model.lm().traits().hidden}, DType::kF32);
    const View out = arena.take({count, model.lm().traits().vocab[0]}, DType::kF32);
    model.lm().forward(ctx, batch, hidden);
    model.lm().logits(ctx, 0, batch, hidden, {}, out);
    std::vector<float> merged(out.f32(), out.f32() + out.shape[1]);
    for (size_t i = 0; count == 2 && i < merged.size(); ++i) {
      const float u = out.f32()[merged.size() + i];
      merged[i] = u + *state.guidance() * (merged[i] - u);
    }
    return merged;
  }
  int32_t sample_one(const Sequence& state, std::vector<float>& logits) {
    const View view{logits.data(), DType::kF32, {1, static_cast<int64_t>(logits.size())}};
    const SampleRow row{state.sampling(0), state.rule(0), state.history(0), 0, 0, 0};
    int32_t id = -1;
    SampleStatus status;
    sample(ctx, view, {&row, 1}, {&id, 1}, {&status, 1});
    return id;
  }

  static constexpr int kPages = 16;
  const Chatterbox& model;
  ThreadPool pool{1};
  Arena arena;
  StepContext ctx{pool, arena};
  KvPool kv;
  std::vector<int32_t> pages;
};

}  // namespace syrinx::chatterbox
