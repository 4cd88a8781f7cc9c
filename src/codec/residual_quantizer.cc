#include "codec/residual_quantizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codec/causal_layers.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

/// Scales the rows of x to length 1, as torch's normalize() does.
void scale_rows_to_length_1(const View& x) {
  constexpr float kLeast = 1e-12f;  // a shorter row is divided by this length, as in torch
  const int64_t dim = x.shape[1];
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    float* row = x.f32() + r * dim;
    double power = 0;
    for (int64_t i = 0; i < dim; ++i) power += double{row[i]} * row[i];
    const float length = std::max(static_cast<float>(std::sqrt(power)), kLeast);
    for (int64_t i = 0; i < dim; ++i) row[i] /= length;
  }
}

}  // namespace

void ResidualQuantizer::add(Tensor entries) {
  codebooks_.push_back({NearestEntry(std::move(entries))});
}

void ResidualQuantizer::add(Tensor entries, PackedLinear in, PackedLinear out) {
  codebooks_.push_back({NearestEntry(std::move(entries)), std::move(in), std::move(out)});
}

void ResidualQuantizer::add_dac(const Weights& scope, int64_t width, int64_t dim, int64_t entries) {
  Tensor stored = scope.scope("codebook").f32("weight", {entries, dim});
  Tensor unit = stored.clone();
  scale_rows_to_length_1(unit);
  add(std::move(unit), causal::load_pointwise(scope.scope("in_proj"), width, dim, WeightType::kF32),
      causal::load_pointwise(scope.scope("out_proj"), dim, width, WeightType::kF32));
  codebooks_.back().stored = std::move(stored);
}

void ResidualQuantizer::run(StepContext& ctx, const View& x, std::span<int32_t> codes,
                            int64_t first) const {
  const int64_t n = x.shape[0];
  if (n > 0) run(ctx, x, View{codes.data(), DType::kI32, {n, std::ssize(codes) / n}}, first);
}

void ResidualQuantizer::run(StepContext& ctx, const View& x, const View& codes,
                            int64_t first) const {
  if (x.shape[0] == 0) return;
  for (int64_t column = first; const Codebook& book : codebooks_) {
    if (book.direct()) {
      book.nearest.subtract(ctx, x, codes, column++);
    } else {
      run_projected(ctx, book, x, codes, column++);
    }
  }
}

/// Chooses the codes of a codebook whose entries are narrower than the rows, or compared by angle.
void ResidualQuantizer::run_projected(StepContext& ctx, const Codebook& book, const View& x,
                                      const View& codes, int64_t column) const {
  SYRINX_CHECK(ctx.device == Device::kCpu,
               "[residual_quantizer] projected codebooks run on the CPU only");
  const int64_t n = x.shape[0];
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<int32_t> best = take_array<int32_t>(ctx, n);
  View key = x;
  if (!book.in.empty()) {
    key = take_rows(ctx, n, book.in.out());
    linear(ctx, book.in, x, key);
  }
  if (!book.stored.empty()) scale_rows_to_length_1(key);
  book.nearest.find(ctx, key, best);
  const int64_t dim = key.shape[1];
  View found = take_rows(ctx, n, dim);  // the chosen entries
  for (int64_t t = 0; t < n; ++t) {
    codes.i32()[t * codes.shape[1] + column] = best[t];
    const float* entry = book.stored.empty() ? book.nearest.entry(best[t]).data()
                                             : book.stored.f32() + best[t] * dim;
    std::copy_n(entry, dim, found.f32() + t * dim);
  }
  if (!book.out.empty()) {
    const View entries = found;
    found = take_rows(ctx, n, x.shape[1]);
    linear(ctx, book.out, entries, found);
  }
  for (int64_t i = 0; i < x.count(); ++i) x.f32()[i] -= found.f32()[i];
}

void ResidualQuantizer::move_to(Device device) {
  for (Codebook& book : codebooks_) {
    SYRINX_CHECK(book.direct(), "[residual_quantizer] projected codebooks run on the CPU only");
    book.nearest.move_to(device);
  }
}

size_t ResidualQuantizer::bytes() const {
  size_t sum = 0;
  for (const Codebook& book : codebooks_)
    sum += book.nearest.bytes() + book.in.bytes() + book.out.bytes() + book.stored.bytes();
  return sum;
}

}  // namespace syrinx
