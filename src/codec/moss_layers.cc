#include "codec/moss_layers.h"

#include <algorithm>

#include "nn/weight_norm.h"

namespace syrinx::moss {
namespace {

/// Makes the linear between a patch and a transformer. `w` [out, channels] is the projection of a
/// patched row; if it is empty, the rows are only reordered.
PackedLinear joined_rows(const Tensor& w, PatchOrder order, int64_t out) {
  const int64_t channels = order.channels * order.factor;  // channels of a joined row
  Tensor all({out, channels}, DType::kF32);
  std::fill_n(all.f32(), all.shape().count(), 0.f);
  for (int64_t c = 0; c < order.channels; ++c) {
    for (int64_t j = 0; j < order.factor; ++j) {
      const int64_t from = c * order.factor + j, to = j * order.channels + c;
      for (int64_t o = 0; o < out; ++o) {
        const float one = o == from ? 1.f : 0.f;
        all.f32()[o * channels + to] = w.empty() ? one : w.f32()[o * channels + from];
      }
    }
  }
  return PackedLinear::pack(all, WeightType::kF32);
}

PackedLinear cut_rows(const Tensor& w, PatchOrder order, int64_t out) {
  const int64_t channels = order.channels * order.factor;  // channels of a row before it is divided
  Tensor all({order.factor * out, channels}, DType::kF32);
  std::fill_n(all.f32(), all.shape().count(), 0.f);
  for (int64_t j = 0; j < order.factor; ++j) {
    for (int64_t o = 0; o < out; ++o) {
      float* row = all.f32() + (j * out + o) * channels;
      for (int64_t c = 0; c < order.channels; ++c) {
        const float one = o == c ? 1.f : 0.f;
        row[c * order.factor + j] = w.empty() ? one : w.f32()[o * order.channels + c];
      }
    }
  }
  return PackedLinear::pack(all, WeightType::kF32);
}

}  // namespace

MossBlockNet load_block(const MossBlock& block, const Weights& side, PatchOrder order, bool cut,
                        WeightType type, int most_frames) {
  const Weights scope = side.scope(std::to_string(block.number));
  const int64_t width = block.net.hidden;
  MossBlockNet made;
  made.rate = block.rate;
  Tensor in;
  if (block.in != width) in = scope.scope("input_proj").f32("weight", {width, block.in});
  const bool moves = order.factor > 1 && order.channels > 1;
  if (moves) {
    made.in = cut ? cut_rows(in, order, width) : joined_rows(in, order, width);
  } else if (!in.empty()) {
    made.in = PackedLinear::pack(in, WeightType::kF32);
  }
  made.net = StreamDecoder(block.net, scope.scope("transformer"), type,
                           static_cast<int>(most_frames * block.rate));
  if (block.out != width) {
    made.out = load_linear(scope, "output_proj", block.out, width, false, WeightType::kF32);
  }
  return made;
}

Pointwise load_pointwise(const Weights& scope, int64_t in, int64_t out) {
  const Tensor weight = folded_weight(scope, {out, in, 1});
  Pointwise made{Tensor({out, in}, DType::kF32), scope.f32("bias", {out})};
  std::copy_n(weight.f32(), out * in, made.weight.f32());
  return made;
}

Pointwise load_residuals(const MossCodecConfig& config, const Weights& quantizer,
                         const std::string& name) {
  const bool up = name == "input_proj";
  const int64_t in = up ? config.latent : config.rvq, out = up ? config.rvq : config.latent;
  if (in != out) return load_pointwise(quantizer.scope(name), in, out);
  Pointwise made{Tensor({out, in}, DType::kF32), Tensor({out}, DType::kF32)};
  for (int64_t i = 0; i < in; ++i) made.weight.f32()[i * in + i] = 1;
  return made;
}

View run_block(StepContext& ctx, const MossBlockNet& block, const View& x, int64_t frames,
               std::span<const StreamRows> rows) {
  const int64_t count = frames * block.rate, width = block.net.config().hidden;
  View now = x;
  if (!block.in.empty()) {
    const int64_t read = x.count() / block.in.in();
    now = take_rows(ctx, read, block.in.out());
    linear(ctx, block.in, x.reshape({read, block.in.in()}), now);
  }
  now = now.reshape({count, width});
  block.net.forward(ctx, now, rows);
  if (block.out.empty()) return now;
  const View out = take_rows(ctx, count, block.out.out());
  linear(ctx, block.out, now, out);
  return out;
}

}  // namespace syrinx::moss
