// Element-wise functions over f32 tensors. Every element is computed independently, so results do
// not depend on batch or threads. `out` may be the same memory as an input of the same shape.
// Errors against the exact functions: exp, tanh and erf within 3e-7 relative (absolute for erf and
// tanh near 0); sin within 2e-7 absolute for |x| < 8192.
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

/// Computes out = f(x) for any shape. silu is x / (1 + e^-x), gelu uses erf, gelu_tanh is its tanh
/// approximation, elu has alpha 1, mish is x tanh(log(1 + e^x)).
void activate(StepContext& ctx, Activation f, const View& x, const View& out);

/// Computes the gate of GeGLU: out[i, j] = gelu_tanh(x[i, j]) * x[i, F + j]. x [N, 2F], out [N, F].
void gelu_tanh_mul(StepContext& ctx, const View& x, const View& out);

/// Computes SwiGLU of a fused projection: out[i, j] = silu(x[i, j]) * x[i, F + j]. x [N, 2F], out
/// [N, F].
void silu_mul(StepContext& ctx, const View& x, const View& out);

/// Computes the gate of WaveNet: out[i, j] = tanh(x[i, j]) * sigmoid(x[i, F + j]). x [N, 2F], out
/// [N, F].
void tanh_sigmoid_mul(StepContext& ctx, const View& x, const View& out);

/// Layout of a matrix: [T, C] (channels last) or [C, T] (channels first).
enum class ChannelAxis : uint8_t { kLast, kFirst };

constexpr float kSnakeEps = 1e-9f;

/// Computes out = x + sin^2(alpha x) * inv_beta per channel. The caller computes alpha and inv_beta
/// [C] f32 once, at load. For snake, inv_beta = 1 / (alpha + kSnakeEps). For SnakeBeta in the log
/// domain, alpha = exp(log_alpha) and inv_beta = 1 / (exp(log_beta) + kSnakeEps).
void snake(StepContext& ctx, const View& x, const View& alpha, const View& inv_beta,
           ChannelAxis axis, const View& out);

/// Clamps every value of x to [low, high].
void clamp(StepContext& ctx, const View& x, float low, float high, const View& out);
/// Computes out = x > 0 ? x : slope * x; slope in (0, 1].
void leaky_relu(StepContext& ctx, const View& x, float slope, const View& out);
/// Computes x += y.
void add_inplace(StepContext& ctx, const View& x, const View& y);
/// Computes x *= factor.
void scale_inplace(StepContext& ctx, const View& x, float factor);
/// Computes x[i, j] += y[i, j] * gain[j], as after a block with layer scale. x, y [N, H]; gain [H].
void add_scaled_inplace(StepContext& ctx, const View& x, const View& y, const View& gain);
/// Computes x[i, j] += bias[j].
void add_bias_inplace(StepContext& ctx, const View& x, const View& bias);

}  // namespace syrinx
