#include "nn/stream_conv.h"

#include <gtest/gtest.h>

#include <random>

#include "nn/weight_norm.h"

namespace syrinx {
namespace {

Tensor random(Shape shape, uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Tensor out(shape, DType::kF32);
  for (int64_t i = 0; i < out.view().count(); ++i) out.f32()[i] = normal(engine);
  return out;
}

std::vector<float> values(const View& x) { return {x.f32(), x.f32() + x.count()}; }

/// The layer's output for x in pieces of `piece` rows.
template <typename Layer, typename State>
std::vector<float> pieces(const Layer& layer, State state, const View& x, int64_t piece) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  std::vector<float> out;
  const int64_t rows = x.shape[0];
  for (int64_t begin = 0; begin < rows; begin += piece) {
    const int64_t end = std::min(rows, begin + piece);
    const View y = layer.run(ctx, x.slice(begin, end), end == rows, state);
    out.insert(out.end(), y.f32(), y.f32() + y.count());
    if (end < rows) {
      EXPECT_EQ(static_cast<int64_t>(out.size()), layer.certain(end) * y.shape[1]);
    }
  }
  return out;
}

TEST(StreamConv, PaddedOnBothSides) {
  struct Case {
    int64_t taps, dilation, stride, left, right;
  };
  for (const Case& c : {Case{3, 1, 1, 1, 1}, Case{7, 3, 1, 9, 9}, Case{6, 1, 3, 1, 1},
                        Case{4, 1, 1, 0, 3}, Case{1, 1, 1, 0, 0}}) {
    const Tensor w = random({5, 2, c.taps}, 1), bias = random({5}, 2), x = random({23, 2}, 3);
    const StreamConv1d conv(w, bias, {c.dilation, c.stride, c.left, c.right});
    std::vector<float> want;
    const int64_t window = c.dilation * (c.taps - 1) + 1;
    for (int64_t t = -c.left; t + window <= 23 + c.right; t += c.stride) {
      for (int64_t o = 0; o < 5; ++o) {
        double sum = bias.f32()[o];
        for (int64_t j = 0; j < c.taps; ++j) {
          const int64_t row = t + j * c.dilation;
          for (int64_t i = 0; i < 2 && row >= 0 && row < 23; ++i) {
            sum += double{w.f32()[(o * 2 + i) * c.taps + j]} * x.f32()[row * 2 + i];
          }
        }
        want.push_back(static_cast<float>(sum));
      }
    }
    const std::vector<float> whole = pieces(conv, conv.open(), x, 23);
    ASSERT_EQ(whole.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(whole[i], want[i], 1e-4f);
    for (const int64_t piece : {1, 2, 5, 22}) EXPECT_EQ(pieces(conv, conv.open(), x, piece), whole);
  }
}

TEST(StreamConv, TransposedAndCutOnBothSides) {
  struct Case {
    int64_t taps, stride;
  };
  for (const Case& c : {Case{16, 8}, Case{11, 5}, Case{7, 3}, Case{4, 4}}) {
    const Tensor w = random({3, 2, c.taps}, 1), bias = random({2}, 2), x = random({9, 3}, 3);
    const StreamConvTranspose1d conv(w, bias, c.stride);
    const int64_t pad = (c.taps - c.stride) / 2;
    std::vector<float> want;
    for (int64_t n = 0; n < 9 * c.stride; ++n) {
      for (int64_t o = 0; o < 2; ++o) {
        double sum = bias.f32()[o];
        for (int64_t t = 0; t < 9; ++t) {
          const int64_t j = n + pad - t * c.stride;
          for (int64_t i = 0; i < 3 && j >= 0 && j < c.taps; ++i) {
            sum += double{w.f32()[(i * 2 + o) * c.taps + j]} * x.f32()[t * 3 + i];
          }
        }
        want.push_back(static_cast<float>(sum));
      }
    }
    const std::vector<float> whole = pieces(conv, conv.open(), x, 9);
    ASSERT_EQ(whole.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(whole[i], want[i], 1e-4f);
    for (const int64_t piece : {1, 2, 8}) EXPECT_EQ(pieces(conv, conv.open(), x, piece), whole);
  }
}

TEST(RowQueue, FirstInFirstOut) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const Tensor x = random({5, 3}, 4), y = random({2, 3}, 5);
  RowQueue queue(3);
  queue.push(x);
  EXPECT_EQ(values(queue.pop(ctx, 2)), values(x.view().slice(0, 2)));
  std::vector<float> want = values(y);
  for (size_t i = 0; i < want.size(); ++i) want[i] += x.f32()[6 + i];
  queue.pop_into_sum(y);
  EXPECT_EQ(values(y), want);
  EXPECT_EQ(queue.rows(), 1);
  EXPECT_THROW(queue.pop_into_sum(y), InternalError);
}

/// Two rows of two taps, under any of the names that a checkpoint may use.
class Source : public WeightSource {
 public:
  Source(std::string gain, std::string direction)
      : gain_(std::move(gain)), direction_(std::move(direction)) {
    const float g[] = {5, 2}, v[] = {3, 4, 0, 0.5f};
    std::copy_n(g, 2, gains_.f32());
    std::copy_n(v, 4, directions_.f32());
  }
  std::string where(const std::string&) const override { return "test"; }
  bool has(const std::string& name) const override { return name == gain_ || name == direction_; }
  std::string describe(const std::string&) const override { return "?"; }
  std::optional<Shape> shape(const std::string& name) const override {
    return has(name) ? std::optional(name == gain_ ? gains_.shape() : directions_.shape())
                     : std::nullopt;
  }
  View take(const std::string& name, const Shape& want) override {
    if (shape(name) != want) return {};
    return name == gain_ ? gains_.view() : directions_.view();
  }
  std::vector<std::string> names() const override { return {gain_, direction_}; }

 private:
  std::string gain_, direction_;
  Tensor gains_{{2, 1, 1}, DType::kF32}, directions_{{2, 1, 2}, DType::kF32};
};

TEST(WeightNorm, FoldsBothSpellings) {
  for (const auto& [gain, direction] :
       {std::pair("weight_g", "weight_v"),
        std::pair("parametrizations.weight.original0", "parametrizations.weight.original1")}) {
    const Weights weights(std::make_unique<Source>(gain, direction));
    const Tensor folded = take_weight_normed(weights, {2, 1, 2});
    EXPECT_EQ(values(folded), (std::vector<float>{3, 4, 0, 2}));
    EXPECT_EQ(weights.finish(), "");
  }
  const Weights plain(std::make_unique<Source>("other", "weight"));
  EXPECT_EQ(values(take_weight_normed(plain, {2, 1, 2})), (std::vector<float>{3, 4, 0, 0.5f}));
}

}  // namespace
}  // namespace syrinx
