// Small layers as values. Their weights are loaded by name and kept in f32, tables also in bf16;
// layers are const afterwards and shared by threads. Legend: N rows, H width; activations f32.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "io/weights.h"
#include "kernels/embedding.h"
#include "kernels/linear.h"
#include "kernels/norm.h"
#include "tensor/device.h"

namespace syrinx {

/// Moves weights to a GPU, and frees the copy in host memory. Empty weights stay empty.
inline void move_to(Device device, Tensor& weight) {
  if (!weight.empty()) weight = copy_to(weight, device);
}
inline void move_to(Device device, PackedLinear& linear) {
  if (!linear.empty()) linear = linear.on_device(device);
}

/// Moves a layer, all parts of a list, or several parts.
template <typename Layer>
auto move_to(Device device, Layer& layer) -> decltype(layer.move_to(device)) {
  layer.move_to(device);
}
template <typename Part>
void move_to(Device device, std::vector<Part>& parts) {
  for (Part& part : parts) move_to(device, part);
}
template <typename First, typename Second, typename... Rest>
void move_to(Device device, First& first, Second& second, Rest&... rest) {
  move_to(device, first);
  move_to(device, second, rest...);
}

/// Returns the bytes of a part of a network (a tensor, table, linear or layer), of all parts of a
/// list, or of several parts.
template <typename Part>
size_t weight_bytes(const Part& part) {
  return part.bytes();
}
template <typename Part>
size_t weight_bytes(const std::vector<Part>& parts) {
  size_t sum = 0;
  for (const Part& part : parts) sum += weight_bytes(part);
  return sum;
}
template <typename First, typename Second, typename... Rest>
size_t weight_bytes(const First& first, const Second& second, const Rest&... rest) {
  return weight_bytes(first) + weight_bytes(second, rest...);
}

/// The device of a network's weights. Also owns the copies of tables on a GPU. The CPU reads these
/// tables directly from a checkpoint's file. Each table has one copy.
class WeightPlace {
 public:
  Device device() const { return device_; }
  /// Moves the parts of a network, each of a kind that move_to() moves, a table, a part with tables
  /// (its move_to() has a WeightPlace), a pointer to a part, or a list of them. The view of a table
  /// becomes a view of the copy, valid as long as this object.
  template <typename... Parts>
  void move(Device device, Parts&... parts) {
    device_ = device;
    (move_part(parts), ...);
  }

 private:
  void move_part(View& table);
  template <typename Part>
  void move_part(std::vector<Part>& parts) {
    for (Part& part : parts) move_part(part);
  }
  template <typename Part>
  void move_part(std::unique_ptr<Part>& part) {
    if (part) move_part(*part);
  }
  template <typename Part>
  void move_part(Part& part) {
    if constexpr (requires { part.move_to(device_, *this); }) {
      part.move_to(device_, *this);
    } else {
      move_to(device_, part);
    }
  }

  Device device_ = Device::kCpu;
  std::map<const void*, Tensor> copies_;
};

/// RMS norm with the tensor "weight" [H] of a scope.
class RmsNorm {
 public:
  RmsNorm() = default;
  /// `offset` is added to each weight. Checkpoints of Gemma store the weight minus one.
  RmsNorm(const Weights& weights, int64_t width, float eps, float offset = 0)
      : weight_(weights.f32("weight", {width})), eps_(eps) {
    for (int64_t i = 0; offset != 0 && i < width; ++i) weight_.f32()[i] += offset;
  }

  /// Computes out = norm(x); [N, H].
  void operator()(StepContext& ctx, const View& x, const View& out) const {
    rms_norm(ctx, x, weight_, eps_, out);
  }
  /// Computes out [N, O] = w(norm(x)).
  void then(StepContext& ctx, const PackedLinear& w, const View& x, const View& out) const {
    linear_normed(ctx, w, x, weight_, eps_, out);
  }
  /// Normalises every head separately, in place.
  void heads(StepContext& ctx, const HeadsView& x) const { rms_norm_heads(ctx, x, weight_, eps_); }
  const View& weight() const { return weight_.view(); }
  float eps() const { return eps_; }
  bool empty() const { return weight_.empty(); }
  void move_to(Device device) { syrinx::move_to(device, weight_); }

 private:
  Tensor weight_;
  float eps_ = 0;
};

/// LayerNorm with the tensors "weight" and "bias" [H] of a scope.
class LayerNorm {
 public:
  LayerNorm() = default;
  LayerNorm(const Weights& weights, int64_t width, float eps)
      : weight_(weights.f32("weight", {width})), bias_(weights.f32("bias", {width})), eps_(eps) {}

  void operator()(StepContext& ctx, const View& x, const View& out) const {
    layer_norm(ctx, x, weight_, bias_, eps_, out);
  }
  bool empty() const { return weight_.empty(); }
  void move_to(Device device) {
    syrinx::move_to(device, weight_);
    syrinx::move_to(device, bias_);
  }

 private:
  Tensor weight_, bias_;
  float eps_ = 0;
};

/// A table, the tensor "weight" [V, H] of a scope, kept in f32 or bf16.
class Embedding {
 public:
  Embedding() = default;
  Embedding(const Weights& weights, int64_t count, int64_t width, DType keep_as = DType::kBF16);

  /// Computes out[i] = table[ids[i]], or with `add` adds the row to out[i]. out [N, H].
  void operator()(StepContext& ctx, std::span<const int32_t> ids, const View& out,
                  bool add = false) const {
    embed(ctx, table_, ids, out, add);
  }
  const View& table() const { return table_.view(); }
  size_t bytes() const { return table_.bytes(); }
  void move_to(Device device) { syrinx::move_to(device, table_); }

 private:
  Tensor table_;
};

/// Returns the weight and, with `bias`, the bias of the torch linear `name` [out, in]. Valid as
/// long as `weights`.
LinearPart take_linear(const Weights& weights, const std::string& name, int64_t out, int64_t in,
                       bool bias);

/// Loads and packs a linear.
PackedLinear load_linear(const Weights& weights, const std::string& name, int64_t out, int64_t in,
                         bool bias, WeightType type);

/// Loads and packs a linear, with output o multiplied by gain[o] (a layer scale).
PackedLinear load_linear_scaled(const Weights& weights, const std::string& name, int64_t out,
                                int64_t in, bool bias, const View& gain, WeightType type);

/// Transposes weights stored as [in, out] to the order of linears: f32 [out, in].
Tensor transposed(const View& weight);

}  // namespace syrinx
