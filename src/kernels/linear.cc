#include "kernels/linear.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/gemm.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/norm.h"
#include "kernels/product_rows.h"

namespace syrinx {
namespace {

constexpr int64_t kPanel = PackedMatrix::kPanel;
constexpr size_t kMaxParts = 8;

int64_t panels_of(int64_t out) { return (out + kPanel - 1) / kPanel; }

void check_part(const LinearPart& part, int64_t in) {
  SYRINX_CHECK(part.weight.shape.dims() == 2 && part.weight.shape[1] == in, "[linear] weight ",
               part.weight.shape.str(), " does not match the number of inputs ", in);
  const Shape outputs{part.weight.shape[0]};
  if (!part.bias.empty()) expect_shape("linear bias", part.bias, outputs);
  if (!part.gain.empty()) expect_shape("linear gain", part.gain, outputs);
}

/// Copies the weights [I] of output `o`, multiplied by its gain.
void copy_weights(const LinearPart& part, int64_t o, float* to) {
  const int64_t in = part.weight.shape[1];
  copy_as_f32(part.weight, o * in, in, to);
  if (part.gain.empty()) return;
  for (int64_t i = 0; i < in; ++i) to[i] *= part.gain.f32()[o];
}

float bias_of(const LinearPart& part, int64_t o) {
  if (part.bias.empty()) return 0;
  float bias = 0;
  copy_as_f32(part.bias, o, 1, &bias);
  return part.gain.empty() ? bias : bias * part.gain.f32()[o];
}

/// Checks the shape of x, and returns its number of rows N.
int64_t check_x(const PackedLinear& w, const View& x) {
  const bool rounded = x.dtype == DType::kBF16 && x.device == Device::kCuda &&
                       w.type() != WeightType::kF32 && w.in() % cuda::kChunk == 0;
  SYRINX_CHECK(x.shape.dims() == 2 && (x.dtype == DType::kF32 || rounded),
               "[linear] expected x [N, I] f32, got ", x.shape.str(), " ", dtype_name(x.dtype));
  expect_shape("linear x", x, Shape{x.shape[0], w.in()});
  return x.shape[0];
}

/// Runs the product on a GPU. `to` describes the outputs as for the CPU.
void run_cuda(StepContext& ctx, const PackedLinear& w, const View& x,
              std::span<const cpu::GemmPart> to, cpu::GemmStore store, bool rounded,
              const cuda::GemmNorm& norm) {
  using Out = cuda::GemmOut;
  static_assert(Out::kMaxParts == kMaxParts);
  Out out;
  for (const cpu::GemmPart& part : to) {
    out.parts[out.count++] = {static_cast<int>(part.first_panel * kPanel),
                              static_cast<int>(part.width), part.out, part.out_stride, part.column};
  }
  out.bias = w.bias();
  out.store = w.gated()                       ? Out::Store::kSiluGate
              : store == cpu::GemmStore::kAdd ? Out::Store::kAdd
                                              : Out::Store::kSet;
  out.rounded = rounded;
  cuda::linear(ctx, w.matrix(), x, out, norm);
}

/// Runs the product on the device of its operands. rounded: the outputs are bf16. norm: of x, only
/// on a GPU.
void run(StepContext& ctx, const PackedLinear& w, const View& x, std::span<const cpu::GemmPart> to,
         cpu::GemmStore store, bool rounded = false, const cuda::GemmNorm& norm = {}) {
  SYRINX_CHECK(w.matrix().data.device() == x.device, "[linear] weights are on ",
               device_name(w.matrix().data.device()), ", but x is on ", device_name(x.device));
  if (x.device == Device::kCuda) return run_cuda(ctx, w, x, to, store, rounded, norm);
  const cpu::GemmSegment all{x.f32(), nullptr, x.shape[0]};
  cpu::GemmCall call;
  call.weight = &w.matrix();
  call.bias = w.bias();
  call.segments = std::span(&all, 1);
  call.parts = to;
  call.x_stride = call.span_len = w.in();
  call.store = w.gated() ? cpu::GemmStore::kSiluGate : store;
  cpu::gemm(ctx, call);
}

/// Runs all parts, and writes their outputs one after another to `out`.
void run_joined(StepContext& ctx, const PackedLinear& w, const View& x, const View& out,
                cpu::GemmStore store, const cuda::GemmNorm& norm = {}) {
  expect_shape("linear out", out, Shape{check_x(w, x), w.out()});
  const bool rounded = w.gated() && x.device == Device::kCuda && out.dtype == DType::kBF16;
  float* const first = rounded ? static_cast<float*>(out.data) : out.f32();
  std::array<cpu::GemmPart, kMaxParts> parts;
  int64_t panel = 0, column = 0;
  size_t n = 0;
  for (const int64_t size : w.part_sizes()) {
    parts[n++] = {panel, size, first, w.out(), column};
    panel += panels_of(size);
    column += size;
  }
  run(ctx, w, x, std::span(parts.data(), n), store, rounded, norm);
}

}  // namespace

DType product_rows(const PackedLinear& w, int64_t rows) {
  const bool rounds = w.device() == Device::kCuda && w.type() != WeightType::kF32 &&
                      rows > cuda::kRoundedInPlace && w.in() % cuda::kChunk == 0;
  return rounds ? DType::kBF16 : DType::kF32;
}

PackedLinear PackedLinear::pack(const View& weight, WeightType type, const View& bias) {
  const LinearPart part{weight, bias};
  return pack(std::span(&part, 1), type);
}

PackedLinear PackedLinear::pack(std::span<const LinearPart> parts, WeightType type) {
  SYRINX_CHECK(!parts.empty() && parts.size() <= kMaxParts, "[linear] expected 1 to ", kMaxParts,
               " parts, got ", parts.size());
  const int64_t in = parts[0].weight.shape[-1];
  type = pairs_if_even(type, in);
  PackedLinear w;
  int64_t panels = 0;
  bool any_bias = false;
  for (const LinearPart& part : parts) {
    check_part(part, in);
    w.part_sizes_.push_back(part.weight.shape[0]);
    w.out_ += part.weight.shape[0];
    panels += panels_of(part.weight.shape[0]);
    any_bias |= !part.bias.empty();
  }
  // Each part begins a new panel. The rows that fill up a panel are zeros.
  std::vector<int64_t> begins;
  int64_t row = 0;
  for (const int64_t size : w.part_sizes_) {
    begins.push_back(row);
    row += panels_of(size) * kPanel;
  }
  const int64_t rows = row - panels_of(w.part_sizes_.back()) * kPanel + w.part_sizes_.back();
  w.matrix_ = PackedMatrix::pack(rows, in, type, [&](int64_t o, float* to) {
    size_t p = begins.size() - 1;
    while (begins[p] > o) --p;
    const int64_t at = o - begins[p];
    if (at < w.part_sizes_[p]) {
      copy_weights(parts[p], at, to);
    } else {
      std::fill_n(to, in, 0.0f);
    }
  });
  if (any_bias) {
    w.bias_ = Tensor(Shape{panels * kPanel}, DType::kF32);
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int64_t o = 0; o < w.part_sizes_[p]; ++o)
        w.bias_.f32()[begins[p] + o] = bias_of(parts[p], o);
    }
  }
  return w;
}

PackedLinear PackedLinear::pack_gated(const LinearPart& gate, const LinearPart& up,
                                      WeightType type) {
  const int64_t out = gate.weight.shape[0], in = gate.weight.shape[-1];
  type = pairs_if_even(type, in);
  check_part(gate, in);
  check_part(up, in);
  expect_shape("gated linear up", up.weight, Shape{out, in});
  PackedLinear w;
  w.gated_ = true;
  w.out_ = out;
  w.part_sizes_ = {out};
  // Panel 2i of the matrix is panel i of `gate`, panel 2i + 1 is panel i of `up`.
  const int64_t rows = 2 * panels_of(out) * kPanel;
  auto source = [&](int64_t o) {
    const int64_t panel = o / kPanel, at = panel / 2 * kPanel + o % kPanel;
    return std::pair(panel % 2 ? &up : &gate, at);
  };
  w.matrix_ = PackedMatrix::pack(rows, in, type, [&](int64_t o, float* to) {
    const auto [part, at] = source(o);
    if (at < out) {
      copy_weights(*part, at, to);
    } else {
      std::fill_n(to, in, 0.0f);
    }
  });
  if (!gate.bias.empty() || !up.bias.empty()) {
    w.bias_ = Tensor(Shape{rows}, DType::kF32);
    for (int64_t o = 0; o < rows; ++o) {
      const auto [part, at] = source(o);
      if (at < out) w.bias_.f32()[o] = bias_of(*part, at);
    }
  }
  return w;
}

PackedLinear PackedLinear::on_device(Device device) const {
  PackedLinear w;
  w.matrix_ = matrix_.on_device(device);
  if (!bias_.empty()) w.bias_ = copy_to(bias_, device);
  w.part_sizes_ = part_sizes_;
  w.out_ = out_;
  w.gated_ = gated_;
  return w;
}

void linear(StepContext& ctx, const PackedLinear& w, const View& x, const View& out) {
  run_joined(ctx, w, x, out, cpu::GemmStore::kSet);
}

void linear_add(StepContext& ctx, const PackedLinear& w, const View& x, const View& out) {
  SYRINX_CHECK(!w.gated(), "[linear_add] a gated linear is not supported");
  run_joined(ctx, w, x, out, cpu::GemmStore::kAdd);
}

void linear_normed(StepContext& ctx, const PackedLinear& w, const View& x, const View& weight,
                   float eps, const View& out) {
  const int64_t rows = check_x(w, x);
  if (x.device == Device::kCuda && w.type() != WeightType::kF32 &&
      cuda::norms_in_product(rows, w.in())) {
    expect_shape("linear_normed", weight, Shape{w.in()});
    return run_joined(ctx, w, x, out, cpu::GemmStore::kSet, {weight.f32(), eps});
  }
  const Arena::Mark mark(ctx.arena);
  const View normed = ctx.arena.take(x.shape, product_rows(w, rows));
  rms_norm(ctx, x, weight, eps, normed);
  linear(ctx, w, normed, out);
}

void linear_parts(StepContext& ctx, const PackedLinear& w, const View& x,
                  std::span<const View> outs) {
  const int64_t n = check_x(w, x);
  SYRINX_CHECK(outs.size() == w.part_sizes().size(), "[linear_parts] ", outs.size(),
               " outputs for ", w.part_sizes().size(), " parts");
  std::array<cpu::GemmPart, kMaxParts> parts;
  int64_t panel = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    const int64_t size = w.part_sizes()[i];
    expect_shape("linear_parts out", outs[i], Shape{n, size});
    parts[i] = {panel, size, outs[i].f32(), size, 0};
    panel += panels_of(size);
  }
  run(ctx, w, x, std::span(parts.data(), outs.size()), cpu::GemmStore::kSet);
}

}  // namespace syrinx
