// Compares attention with relative positions, in chunks, with the formula in double.
#include "nn/rel_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

constexpr int64_t kWidth = 12, kHeads = 2, kDim = kWidth / kHeads, kChunk = 4, kRows = 10;

/// A source of weights that computes them from their names.
class Source : public WeightSource {
 public:
  std::string where(const std::string&) const override { return "test"; }
  bool has(const std::string&) const override { return true; }
  std::string describe(const std::string&) const override { return "any"; }
  std::optional<Shape> shape(const std::string&) const override { return {}; }
  std::vector<std::string> names() const override { return {}; }
  View take(const std::string& name, const Shape& shape) override {
    Tensor& tensor = tensors_[name];
    tensor = Tensor(shape, DType::kF32);
    double phase = 0;
    for (const char ch : name) phase += ch;
    for (int64_t i = 0; i < shape.count(); ++i) {
      tensor.f32()[i] = static_cast<float>(0.4 * std::sin(phase + 1.3 * static_cast<double>(i)));
    }
    return tensor;
  }
  const float* get(const std::string& name) const { return tensors_.at(name).f32(); }

 private:
  std::map<std::string, Tensor> tensors_;
};

using Rows = std::vector<std::vector<double>>;

Rows apply(const Source& s, const std::string& name, const Rows& x, bool bias) {
  const float* w = s.get(name + ".weight");
  Rows out;
  for (const auto& row : x) {
    std::vector<double> y(kWidth);
    for (int64_t o = 0; o < kWidth; ++o) {
      if (bias) y[o] = s.get(name + ".bias")[o];
      for (int64_t i = 0; i < kWidth; ++i) y[o] += w[o * kWidth + i] * row[i];
    }
    out.push_back(y);
  }
  return out;
}

/// Computes the layer from its formula. A row attends to its own chunk and to the `left` chunks
/// before it, or to as many as exist.
Rows expected(const Source& s, const Rows& x, int64_t chunk, int64_t left) {
  const auto rows = static_cast<int64_t>(x.size());
  const Rows q = apply(s, "linear_q", x, true), k = apply(s, "linear_k", x, true);
  const Rows v = apply(s, "linear_v", x, true);
  Rows mixed(rows, std::vector<double>(kWidth));
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t begin = std::max<int64_t>(0, i / chunk - left) * chunk;
    const int64_t seen = std::min(rows, (i / chunk + 1) * chunk);
    Rows codes;
    for (int64_t j = 0; j < seen; ++j) {
      std::vector<double> code(kWidth);
      for (int64_t c = 0; c < kWidth; c += 2) {
        const double angle = double(i - j) * std::pow(10000.0, -double(c) / double(kWidth));
        code[c] = std::sin(angle), code[c + 1] = std::cos(angle);
      }
      codes.push_back(code);
    }
    const Rows p = apply(s, "linear_pos", codes, false);
    for (int64_t h = 0; h < kHeads; ++h) {
      std::vector<double> weight(seen);
      double total = 0;
      for (int64_t j = begin; j < seen; ++j) {
        double score = 0;
        for (int64_t d = h * kDim; d < (h + 1) * kDim; ++d) {
          score += (q[i][d] + s.get("pos_bias_u")[d]) * k[j][d];
          score += (q[i][d] + s.get("pos_bias_v")[d]) * p[j][d];
        }
        total += weight[j] = std::exp(score / std::sqrt(double(kDim)));
      }
      for (int64_t d = h * kDim; d < (h + 1) * kDim; ++d) {
        for (int64_t j = begin; j < seen; ++j) mixed[i][d] += weight[j] / total * v[j][d];
      }
    }
  }
  return apply(s, "linear_out", mixed, true);
}

class RelAttentionOf : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, RelAttentionOf, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// The longer stream has more rows than a block of a GPU has threads.
TEST_P(RelAttentionOf, AStreamFollowsTheFormulaChunkByChunk) {
  for (const auto& [count, chunk] : {std::pair<int64_t, int64_t>{kRows, kChunk}, {140, 100}}) {
    auto owned = std::make_unique<Source>();
    const Source& source = *owned;
    const Weights weights(std::move(owned));
    RelAttention attention(weights, kWidth, kHeads, chunk, WeightType::kF32);
    if (GetParam() != Device::kCpu) attention.move_to(GetParam());
    fixture::Bench bench(2, GetParam());
    Tensor x({count, kWidth}, DType::kF32), sum({count, kWidth}, DType::kF32);
    Rows rows(count, std::vector<double>(kWidth));
    for (int64_t i = 0; i < count * kWidth; ++i) {
      x.f32()[i] = std::sin(0.7f * static_cast<float>(i));
      rows[i / kWidth][i % kWidth] = x.f32()[i];
      sum.f32()[i] = 5;
    }
    const View from = bench.on(x), to = bench.on(sum);
    RelAttention::Cache cache = attention.open();
    for (int64_t begin = 0; begin < count; begin += chunk) {
      const int64_t end = std::min(begin + chunk, count);
      attention.run(bench.ctx, from.slice(begin, end), cache, to.slice(begin, end));
      if (begin == 0) cache = cache.clone();
    }
    EXPECT_EQ(cache.rows, count);
    EXPECT_THROW(attention.run(bench.ctx, from, cache, to), InternalError);
    bench.back();
    const Rows want = expected(source, rows, chunk, count);
    for (int64_t i = 0; i < count * kWidth; ++i)
      ASSERT_NEAR(sum.f32()[i], 5 + want[i / kWidth][i % kWidth], 1e-5) << i;
  }
}

/// Streams with different chunks and windows share a call. One stream has several chunks in a call.
TEST_P(RelAttentionOf, SeesAWindowOfChunksWhateverItsCompanyAndItsCalls) {
  auto owned = std::make_unique<Source>();
  const Source& source = *owned;
  const Weights weights(std::move(owned));
  RelAttention attention(weights, kWidth, kHeads, kChunk, WeightType::kF32);
  attention.prepare(7);
  if (GetParam() != Device::kCpu) attention.move_to(GetParam());
  fixture::Bench bench(2, GetParam());
  Tensor x({kRows, kWidth}, DType::kF32);
  Rows rows(kRows, std::vector<double>(kWidth));
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    rows[i / kWidth][i % kWidth] = x.f32()[i] = std::sin(0.7f * static_cast<float>(i));
  }
  struct Stream {
    int64_t chunk, left;
    std::vector<int64_t> calls;
  };
  for (const Stream& s : {Stream{2, 1, {2, 4, 4}}, Stream{4, 1, {8, 2, 0}}, Stream{1, 3, {1, 2, 7}},
                          Stream{2, 0, {10, 0, 0}}}) {
    RelAttention::Cache alone = attention.open(s.chunk, s.left), other = attention.open(2, 1);
    Tensor sum({kRows, kWidth}, DType::kF32);
    std::fill_n(sum.f32(), kRows * kWidth, 0.f);
    int64_t at = 0;
    for (const int64_t each : s.calls) {
      Tensor both({2 + each, kWidth}, DType::kF32), out({2 + each, kWidth}, DType::kF32);
      std::copy_n(x.f32(), 2 * kWidth, both.f32());
      std::copy_n(x.f32() + at * kWidth, each * kWidth, both.f32() + 2 * kWidth);
      std::fill_n(out.f32(), (2 + each) * kWidth, 0.f);
      const RelAttention::Job jobs[] = {{2, &other}, {each, &alone}};
      attention.run(bench.ctx, bench.on(both), jobs, bench.on(out));
      bench.back();
      std::copy_n(out.f32() + 2 * kWidth, each * kWidth, sum.f32() + at * kWidth);
      at += each;
    }
    const Rows want = expected(source, rows, s.chunk, s.left);
    for (int64_t i = 0; i < kRows * kWidth; ++i) {
      EXPECT_NEAR(sum.f32()[i], want[i / kWidth][i % kWidth], 1e-5) << s.chunk << " " << i;
    }
    EXPECT_LE(alone.rows - alone.dropped, (s.left + 1) * s.chunk);
  }
  RelAttention::Cache far = attention.open(4, 2);
  const RelAttention::Job beyond{kRows, &far};
  EXPECT_THROW(attention.run(bench.ctx, bench.on(x), std::span(&beyond, 1), bench.on(x)),
               InternalError);
}

}  // namespace
}  // namespace syrinx
