#include "families/whisper/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "families/whisper/token_rules.h"
#include "kernels/attention_weights.h"

namespace syrinx::whisper {
namespace {

constexpr int kMedian = 7, kMargin = kMedian / 2;
constexpr int64_t kColumns = 64;
constexpr int kHeadsAStep = 8;  // about 50 ms of one core for the longest texts

/// Replaces each value of the columns [begin, end), at most kColumns, by its distance from the
/// column's mean in standard deviations. Writes 0 if all rows are equal.
void standardise(std::span<float> weights, int64_t rows, int64_t columns, int64_t begin,
                 int64_t end) {
  std::array<double, kColumns> mean{}, by{};
  const auto each = [&](auto&& f) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = begin; c < end; ++c) f(c - begin, weights[r * columns + c]);
  };
  const auto count = static_cast<double>(rows);
  each([&](int64_t c, float& x) { mean[c] += x / count; });
  each([&](int64_t c, float& x) { by[c] += (x - mean[c]) * (x - mean[c]) / count; });
  for (double& x : by) x = x > 0 ? 1 / std::sqrt(x) : 0;
  each([&](int64_t c, float& x) { x = static_cast<float>((x - mean[c]) * by[c]); });
}

/// Returns the median of the seven values around `at`, with the row mirrored at both ends. Returns
/// the value itself if the row is too short.
float median_at(std::span<const float> row, int64_t at) {
  const auto count = std::ssize(row);
  if (count <= kMargin) return row[at];
  std::array<float, kMedian> near;
  for (int i = 0; i < kMedian; ++i) {
    int64_t from = std::abs(at + i - kMargin);
    if (from >= count) from = 2 * (count - 1) - from;
    near[i] = row[from];
  }
  std::nth_element(near.begin(), near.begin() + kMargin, near.end());
  return near[kMargin];
}

}  // namespace

AlignedText::AlignedText(const ModelConfig& config, const Generation& generation,
                         std::shared_ptr<Alignment> alignment)
    : DecoderText(config.width(), WhisperEncoder::kRows, alignment->rows),
      config_(config),
      generation_(generation),
      alignment_(std::move(alignment)) {
  const Generation& g = generation_;
  Alignment& a = *alignment_;
  ids_.push_back(g.start);
  if (g.multilingual()) {
    ids_.push_back(g.languages.at(a.language));
    ids_.push_back(a.translate ? g.translate : g.transcribe);
  }
  ids_.push_back(g.no_timestamps);
  ids_.insert(ids_.end(), a.text.begin(), a.text.end());
  ids_.push_back(g.end);
  prompt_ = static_cast<int>(ids_.size());
  sampling_.temperature = 0;
  queries_.resize(g.alignment_heads.size() * ids_.size() * size_t(config.head_dim()));
  a.weights.assign((a.text.size() + 1) * size_t(a.columns()), 0.f);
  a.probabilities.assign(a.text.size(), 0.f);
}

/// Returns how many heads each step computes: kHeadsAStep, or more if the positions after the
/// prompt would not suffice. Each step takes one position.
int AlignedText::heads_a_step() const {
  const auto heads = std::ssize(generation_.alignment_heads);
  const int64_t room = std::max<int64_t>(1, config_.max_ids - prompt_);
  return static_cast<int>(std::max<int64_t>(kHeadsAStep, (heads + room - 1) / room));
}

int AlignedText::max_steps() const {
  const auto heads = static_cast<int>(std::ssize(generation_.alignment_heads));
  return (heads + heads_a_step() - 1) / heads_a_step();
}

Verdict AlignedText::advance(std::span<const int32_t> codes, StepOutput&) {
  ids_.push_back(codes[0]);
  ++step_;
  return {step_ == max_steps() ? Verdict::kFinished : Verdict::kContinue};
}

void AlignedText::note_queries(int layer, int row, const float* q) {
  if (row >= prompt_) return;
  const auto dim = static_cast<int64_t>(config_.head_dim());
  const std::vector<AlignmentHead>& heads = generation_.alignment_heads;
  for (int64_t h = 0; h < std::ssize(heads); ++h) {
    if (heads[h].layer == layer)
      std::copy_n(q + heads[h].head * dim, dim, queries_.begin() + (h * prompt_ + row) * dim);
  }
}

int32_t AlignedText::predicts(int row) const {
  const int at = row - first_row();
  return at >= 0 && at < std::ssize(alignment_->text) ? alignment_->text[at] : -1;
}

void AlignedText::note_probability(int row, std::span<const float> logits) {
  alignment_->probabilities[row - first_row()] =
      probability(logits.first(size_t(generation_.end)), predicts(row));
}

void AlignedText::weigh(StepContext& ctx, const KvPool& pool, std::span<const int32_t> pages) {
  const Arena::Mark mark(ctx.host);
  const std::vector<AlignmentHead>& heads = generation_.alignment_heads;
  const int64_t dim = config_.head_dim();
  const float scale = 1.f / std::sqrt(static_cast<float>(dim));
  const View weights = ctx.host.take({prompt_, alignment_->columns()}, DType::kF32);
  const View q = ctx.host.take({prompt_, dim}, DType::kF32);
  const int64_t begin = int64_t{step_} * heads_a_step();
  const int64_t end = std::min<int64_t>(begin + heads_a_step(), std::ssize(heads));
  for (int64_t h = begin; h < end; ++h) {
    std::copy_n(queries_.begin() + h * prompt_ * dim, prompt_ * dim, q.f32());
    attention_weights(ctx, q, pool, heads[h].layer, heads[h].head, pages, scale, weights);
    add_head(ctx, weights);
  }
}

/// Adds the share of one head to the mean of all heads.
void AlignedText::add_head(StepContext& ctx, const View& weights) {
  const int64_t rows = prompt_, columns = alignment_->columns();
  const std::span<float> all(weights.f32(), static_cast<size_t>(rows * columns));
  ctx.pool.parallel_for(columns, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c += kColumns)
      standardise(all, rows, columns, c, std::min(end, c + kColumns));
  });
  const auto share = static_cast<float>(1. / double(generation_.alignment_heads.size()));
  const int64_t kept = std::ssize(alignment_->text) + 1;
  ctx.pool.parallel_for(kept, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto row = all.subspan(size_t((first_row() + r) * columns), size_t(columns));
      for (int64_t c = 0; c < columns; ++c)
        alignment_->weights[r * columns + c] += share * median_at(row, c);
    }
  });
}

}  // namespace syrinx::whisper
