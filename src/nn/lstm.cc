#include "nn/lstm.h"

#include <algorithm>

#include "kernels/activation.h"

namespace syrinx {

Lstm::Lstm(const Weights& weights, const std::string& suffix, int64_t in, int64_t hidden)
    : hidden_(hidden) {
  const auto pack = [&](const std::string& part, int64_t width) {
    return PackedLinear::pack(weights.take("weight_" + part + suffix, {4 * hidden, width}),
                              WeightType::kF32,
                              weights.take("bias_" + part + suffix, {4 * hidden}));
  };
  input_ = pack("ih", in);
  recurrent_ = pack("hh", hidden);
}

void Lstm::run(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View state = ctx.arena.take({2, x.shape[1], hidden_}, DType::kF32);
  std::fill_n(state.f32(), state.count(), 0.f);
  const Shape each{x.shape[1], hidden_};
  run(ctx, x, state.slice(0, 1).reshape(each), state.slice(1, 2).reshape(each), out);
}

LstmState Lstm::open() const {
  LstmState state{Tensor({1, hidden_}, DType::kF32), Tensor({1, hidden_}, DType::kF32)};
  std::fill_n(state.hidden.f32(), hidden_, 0.f);
  std::fill_n(state.cell.f32(), hidden_, 0.f);
  return state;
}

void Lstm::run(StepContext& ctx, const View& x, LstmState& state, const View& out) const {
  const int64_t steps = x.shape[0];
  if (steps == 0) return;
  run(ctx, x.reshape({steps, 1, in()}), state.hidden, state.cell, out.reshape({steps, 1, hidden_}));
  std::copy_n(out.f32() + (steps - 1) * hidden_, hidden_, state.hidden.f32());
}

void Lstm::step(StepContext& ctx, const View& x, const View& hidden, const View& cell) const {
  const int64_t rows = x.shape[0];
  const Arena::Mark mark(ctx.arena);
  const View out = ctx.arena.take({1, rows, hidden_}, DType::kF32);
  run(ctx, x.reshape({1, rows, in()}), hidden, cell, out);
  std::copy_n(out.f32(), out.count(), hidden.f32());
}

void Lstm::run(StepContext& ctx, const View& x, const View& first, const View& cell,
               const View& out) const {
  const int64_t steps = x.shape[0], rows = x.shape[1], h = hidden_;
  expect_shape("lstm", x, {steps, rows, in()});
  expect_shape("lstm", out, {steps, rows, h});
  const Arena::Mark mark(ctx.arena);
  const View gates = ctx.arena.take({steps, rows, 4 * h}, DType::kF32);
  const View bent = ctx.arena.take({h}, DType::kF32);  // tanh of the cells
  linear(ctx, input_, x.reshape({steps * rows, in()}), gates.reshape({steps * rows, 4 * h}));
  for (int64_t t = 0; t < steps; ++t) {
    const View before = t == 0 ? first : out.slice(t - 1, t).reshape({rows, h});
    linear_add(ctx, recurrent_, before, gates.slice(t, t + 1).reshape({rows, 4 * h}));
    for (int64_t r = 0; r < rows; ++r) {  // a row has the input, forget, cell and output gates
      const View row = gates.reshape({steps * rows, 4 * h}).slice(t * rows + r, t * rows + r + 1);
      const View each = row.reshape({4, h}), inner = each.slice(2, 3);
      activate(ctx, Activation::kSigmoid, each.slice(0, 2), each.slice(0, 2));
      activate(ctx, Activation::kTanh, inner, inner);
      activate(ctx, Activation::kSigmoid, each.slice(3, 4), each.slice(3, 4));
      const float* g = row.f32();
      float *c = cell.f32() + r * h, *to = out.f32() + (t * rows + r) * h;
      for (int64_t i = 0; i < h; ++i) c[i] = g[h + i] * c[i] + g[i] * g[2 * h + i];
      activate(ctx, Activation::kTanh, cell.slice(r, r + 1).reshape({h}), bent);
      for (int64_t i = 0; i < h; ++i) to[i] = g[3 * h + i] * bent.f32()[i];
    }
  }
}

}  // namespace syrinx
