#include "codec/conv_positions.h"

#include <algorithm>

#include "kernels/activation.h"
#include "nn/weight_norm.h"

namespace syrinx {

ConvPositionSizes ConvPositionSizes::of(const Weights& scope, ConvPositionSizes otherwise) {
  for (const char* name : {"weight_v", "parametrizations.weight.original1", "weight"}) {
    const auto shape = scope.shape(name);
    if (!shape || shape->dims() != 3 || (*shape)[1] < 1) continue;
    otherwise.groups = std::max<int64_t>(1, (*shape)[0] / (*shape)[1]);
    otherwise.taps = (*shape)[2];
    break;
  }
  return otherwise;
}

ConvPositions::ConvPositions(const Weights& scope, const ConvPositionSizes& sizes) {
  const Tensor weight =
      folded_weight(scope, {sizes.width, sizes.width / sizes.groups, sizes.taps}, "weight", 2);
  conv_ = PackedConv1d::pack(weight, scope.take("bias", {sizes.width}), sizes.groups);
}

Tensor ConvPositions::padded(const View& rows) const {
  const int64_t total = rows.shape[0], width = rows.shape[1];
  Tensor out({total + conv_.taps() - 1, width}, DType::kF32);
  std::copy_n(rows.f32(), total * width, out.f32() + conv_.taps() / 2 * width);
  return out;
}

View ConvPositions::at(StepContext& ctx, const Tensor& padded, int64_t begin, int64_t end) const {
  const View out = ctx.arena.take({end - begin, conv_.out()}, DType::kF32);
  conv1d(ctx, conv_, padded.view().slice(begin, end + conv_.taps() - 1), out);
  activate(ctx, Activation::kGelu, out, out);
  return out;
}

}  // namespace syrinx
