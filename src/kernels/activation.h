// Element-wise functions over f32 tensors. Every element is computed alone, so results do not
// depend on batch or threads. `out` may be the same memory as an input of the same shape. Errors
// against the exact function: exp, tanh, erf within 3e-7 relative (absolute near 0 for erf and
// tanh); sin within 2e-7 absolute for |x| < 8192.
#pragma once

#include "tensor/context.h"

namespace syrinx {

enum class Activation : uint8_t {
  kNone,
  kSilu,
  kGelu,
  kGeluTanh,
  kElu,
  kRelu,
  kTanh,
  kSigmoid,
  kMish
};

/// out = f(x), any shape. silu x/(1+e^-x); gelu with erf; gelu_tanh the tanh approximation;
/// elu with alpha 1; mish x tanh(log(1+e^x)).
void activate(StepContext& ctx, Activation f, const View& x, const View& out);

/// The gate of GeGLU: out[i, j] = gelu_tanh(x[i, j]) * x[i, F + j]. x [N, 2F], out [N, F]. On the
/// CPU only.
void gelu_tanh_mul(StepContext& ctx, const View& x, const View& out);

/// SwiGLU of a fused projection: out[i, j] = silu(x[i, j]) * x[i, F + j]. x [N, 2F], out [N, F].
void silu_mul(StepContext& ctx, const View& x, const View& out);

/// How channels lie in a matrix: [T, C] (channel last) or [C, T].
enum class ChannelAxis : uint8_t { kLast, kFirst };

constexpr float kSnakeEps = 1e-9f;

/// out = x + sin^2(alpha x) * inv_beta, per channel. alpha, inv_beta [C] f32. For snake:
/// inv_beta = 1 / (alpha + kSnakeEps); for SnakeBeta in log domain: alpha = exp(log_alpha),
/// inv_beta = 1 / (exp(log_beta) + kSnakeEps). The caller precomputes both at load.
void snake(StepContext& ctx, const View& x, const View& alpha, const View& inv_beta,
           ChannelAxis axis, const View& out);

/// Bounds every value of x to [low, high].
void clamp(StepContext& ctx, const View& x, float low, float high, const View& out);
/// out = x > 0 ? x : slope * x; slope in (0, 1].
void leaky_relu(StepContext& ctx, const View& x, float slope, const View& out);
/// x += y.
void add_inplace(StepContext& ctx, const View& x, const View& y);
/// x *= factor.
void scale_inplace(StepContext& ctx, const View& x, float factor);
/// x[i, j] += y[i, j] * gain[j]: residual with layer scale. x, y [N, H]; gain [H].
void add_scaled_inplace(StepContext& ctx, const View& x, const View& y, const View& gain);
/// x[i, j] += bias[j].
void add_bias_inplace(StepContext& ctx, const View& x, const View& bias);

}  // namespace syrinx
