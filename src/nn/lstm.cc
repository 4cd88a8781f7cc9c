#include "nn/lstm.h"

#include "kernels/copy.h"
#include "kernels/lstm.h"

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

View Lstm::gates(StepContext& ctx, const View& x) const {
  const View out = ctx.arena.take({x.shape[0], 4 * hidden_}, DType::kF32);
  linear(ctx, input_, x, out);
  return out;
}

void Lstm::run(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View state = ctx.arena.take({2, x.shape[1], hidden_}, DType::kF32);
  const CopySpan zeros{nullptr, state.f32(), state.count()};
  copy_spans(ctx, {&zeros, 1});
  const Shape each{x.shape[1], hidden_};
  run(ctx, x, state.slice(0, 1).reshape(each), state.slice(1, 2).reshape(each), out);
}

LstmState Lstm::open() const {
  return {Tensor({1, hidden_}, DType::kF32, device()), Tensor({1, hidden_}, DType::kF32, device())};
}

void Lstm::run(StepContext& ctx, const View& x, std::span<const LstmJob> jobs,
               const View& out) const {
  const int64_t rows = x.shape[0], h = hidden_;
  expect_shape("lstm", x, {rows, in()});
  expect_shape("lstm", out, {rows, h});
  if (rows == 0) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const float* from = gates(ctx, x).f32();
  float* to = out.f32();
  const std::span<LstmSteps> streams = take_array<LstmSteps>(ctx, std::ssize(jobs));
  int64_t done = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    LstmState& state = *jobs[i].state;
    streams[i] = {from + done * 4 * h, state.hidden.f32(), state.cell.f32(), to + done * h,
                  jobs[i].rows};
    done += jobs[i].rows;
  }
  SYRINX_CHECK(done == rows, "[lstm] jobs of ", done, " rows, but x is ", x.shape.str());
  lstm(ctx, recurrent_, streams);
}

void Lstm::step(StepContext& ctx, const View& x, const View& hidden, const View& cell) const {
  const int64_t rows = x.shape[0];
  const Arena::Mark mark(ctx.arena);
  const View out = ctx.arena.take({1, rows, hidden_}, DType::kF32);
  run(ctx, x.reshape({1, rows, in()}), hidden, cell, out);
}

void Lstm::run(StepContext& ctx, const View& x, const View& hidden, const View& cell,
               const View& out) const {
  const int64_t steps = x.shape[0], rows = x.shape[1], h = hidden_;
  expect_shape("lstm", x, {steps, rows, in()});
  expect_shape("lstm", out, {steps, rows, h});
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const float* from = gates(ctx, x.reshape({steps * rows, in()})).f32();
  const std::span<LstmSteps> streams = take_array<LstmSteps>(ctx, rows);
  for (int64_t p = 0; p < rows; ++p) {
    streams[p] = {
        from + p * 4 * h, hidden.f32() + p * h, cell.f32() + p * h, out.f32() + p * h, steps, rows};
  }
  lstm(ctx, recurrent_, streams);
}

}  // namespace syrinx
