#include "kernels/id_limits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/cpu_features.h"
#include "kernels/cuda/kernels.h"
#include "kernels/sample_impl.h"

namespace syrinx {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Returns the sum of all e^(x - top).
double sum_of_exp(std::span<const float> x, float top) {
  const auto sum = cpu_features().simd() ? &simd::exp_sum : &ref::exp_sum;
  return sum(x.data(), std::ssize(x), top);
}

float largest_of(std::span<const float> x) {
  const auto largest = cpu_features().simd() ? &simd::largest_of : &ref::largest_of;
  return largest(x.data(), std::ssize(x));
}

void limit_row(const IdLimits& limits, std::span<float> logits) {
  const auto vocabulary = std::ssize(logits);
  for (int64_t begin = 0; begin < vocabulary && !limits.mask.empty(); begin += 64) {
    const int64_t word = begin / 64, end = std::min(begin + 64, vocabulary);
    const uint64_t allowed = word < std::ssize(limits.mask) ? limits.mask[word] : 0;
    if (allowed == 0) {
      std::fill(logits.begin() + begin, logits.begin() + end, kNever);
      continue;
    }
    for (uint64_t never = ~allowed; never != 0; never &= never - 1) {
      const int64_t id = begin + std::countr_zero(never);
      if (id < end) logits[id] = kNever;
    }
  }
  if (limits.rather_from <= 0 || limits.rather_from >= vocabulary) return;
  const auto first = static_cast<size_t>(limits.rather_from);
  const std::span<float> before = logits.first(first);
  if (log_sum(logits.subspan(first)) > largest_of(before)) std::ranges::fill(before, kNever);
}

}  // namespace

double log_sum(std::span<const float> x) {
  const float top = largest_of(x);
  if (!(top > kNever)) return kNever;
  return top + std::log(sum_of_exp(x, top));
}

void limit_ids(StepContext& ctx, const View& logits, std::span<const IdLimits> rows) {
  SYRINX_CHECK(logits.shape.dims() == 2 && logits.shape[0] == std::ssize(rows), "[limit_ids] ",
               rows.size(), " rows for logits ", logits.shape.str());
  if (logits.device == Device::kCuda) return cuda::limit_ids(ctx, logits, rows);
  const int64_t vocabulary = logits.shape[1];
  ctx.pool.parallel_for(std::ssize(rows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      limit_row(rows[i], {logits.f32() + i * vocabulary, static_cast<size_t>(vocabulary)});
  });
}

void log_probabilities(StepContext& ctx, const View& logits, const View& ids, int column,
                       const View& out) {
  SYRINX_CHECK(logits.shape.dims() == 2 && ids.shape.dims() == 2 &&
                   ids.shape[0] == logits.shape[0] && column >= 0 && column < ids.shape[1],
               "[log_probabilities] ids ", ids.shape.str(), " for logits ", logits.shape.str());
  expect_shape("log_probabilities out", out, {logits.shape[0]});
  if (logits.device == Device::kCuda) return cuda::log_probabilities(ctx, logits, ids, column, out);
  const int64_t vocabulary = logits.shape[1];
  ctx.pool.parallel_for(logits.shape[0], 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::span<const float> row(logits.f32() + i * vocabulary,
                                       static_cast<size_t>(vocabulary));
      const float drawn = row[static_cast<size_t>(ids.i32()[i * ids.shape[1] + column])];
      out.f32()[i] = static_cast<float>(drawn - log_sum(row));
    }
  });
}

}  // namespace syrinx
