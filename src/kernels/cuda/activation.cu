// Element-wise functions. They use accurate exp, tanh, erf and sin, not those of fast-math.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

__device__ float apply(Activation f, float x) {
  switch (f) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1.f + expf(-x));
    case Activation::kGelu:
      return 0.5f * x * (1.f + erff(x * 0.70710678118654752f));
    case Activation::kGeluTanh:
      return 0.5f * x * (1.f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
    case Activation::kElu:
      return x > 0 ? x : expm1f(x);
    case Activation::kRelu:
      return x <= 0 ? 0.f : x;  // NaN stays NaN
    case Activation::kTanh:
      return tanhf(x);
    case Activation::kSigmoid:
      return 1.f / (1.f + expf(-x));
    case Activation::kMish:
      return x * tanhf(log1pf(expf(x)));
  }
  return x;
}

struct Activate {
  Activation f;
  const float* x;
  float* out;
  __device__ void operator()(int64_t i) const { out[i] = apply(f, x[i]); }
};

/// Multiplies functions of the two halves of each row.
template <Activation kFirst, Activation kSecond>
struct HalvesMul {
  const float* x;
  float* out;
  int64_t width;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const float* first = x + at.row * 2 * width + at.column;
    out[i] = apply(kFirst, first[0]) * apply(kSecond, first[width]);
  }
};

template <Activation kFirst, Activation kSecond>
void mul_halves(StepContext& ctx, const char* name, const View& x, const View& out) {
  for_each(ctx, name, out.count(), HalvesMul<kFirst, kSecond>{x.f32(), out.f32(), out.shape[1]});
}

struct Snake {
  const float *x, *alpha, *inv_beta;
  float* out;
  int64_t width;
  bool last;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const int64_t c = last ? at.column : at.row;
    const float s = sinf(alpha[c] * x[i]);
    out[i] = x[i] + s * s * inv_beta[c];
  }
};

struct Clamp {
  const float* x;
  float low, high;
  float* out;
  __device__ void operator()(int64_t i) const {
    const float raised = x[i] < low ? low : x[i];
    out[i] = high < raised ? high : raised;
  }
};

struct LeakyRelu {
  const float* x;
  float slope;
  float* out;
  __device__ void operator()(int64_t i) const { out[i] = x[i] > 0 ? x[i] : slope * x[i]; }
};

struct Scale {
  float* x;
  float factor;
  __device__ void operator()(int64_t i) const { x[i] *= factor; }
};

struct Add {
  float* x;
  const float *y, *gain;
  int64_t width;
  bool one_row;
  __device__ void operator()(int64_t i) const {
    const int64_t column = row_and_column(i, width).column;
    const float term = y[one_row ? column : i];
    x[i] += gain ? term * gain[column] : term;
  }
};

}  // namespace

void activate(StepContext& ctx, Activation f, const View& x, const View& out) {
  for_each(ctx, "activate", x.count(), Activate{f, x.f32(), out.f32()});
}

void silu_mul(StepContext& ctx, const View& x, const View& out) {
  mul_halves<Activation::kSilu, Activation::kNone>(ctx, "silu_mul", x, out);
}

void gelu_tanh_mul(StepContext& ctx, const View& x, const View& out) {
  mul_halves<Activation::kGeluTanh, Activation::kNone>(ctx, "gelu_tanh_mul", x, out);
}

void tanh_sigmoid_mul(StepContext& ctx, const View& x, const View& out) {
  mul_halves<Activation::kTanh, Activation::kSigmoid>(ctx, "tanh_sigmoid_mul", x, out);
}

void snake(StepContext& ctx, const View& x, const View& alpha, const View& inv_beta,
           ChannelAxis axis, const View& out) {
  for_each(ctx, "snake", x.count(),
           Snake{x.f32(), alpha.f32(), inv_beta.f32(), out.f32(), x.shape[1],
                 axis == ChannelAxis::kLast});
}

void clamp(StepContext& ctx, const View& x, float low, float high, const View& out) {
  for_each(ctx, "clamp", x.count(), Clamp{x.f32(), low, high, out.f32()});
}

void leaky_relu(StepContext& ctx, const View& x, float slope, const View& out) {
  for_each(ctx, "leaky_relu", x.count(), LeakyRelu{x.f32(), slope, out.f32()});
}

void scale(StepContext& ctx, const View& x, float factor) {
  for_each(ctx, "scale", x.count(), Scale{x.f32(), factor});
}

void add(StepContext& ctx, const View& x, const View& y, const View& gain, bool one_row) {
  for_each(ctx, "add", x.count(),
           Add{x.f32(), y.f32(), gain.empty() ? nullptr : gain.f32(), x.shape[-1], one_row});
}

}  // namespace syrinx::cuda
