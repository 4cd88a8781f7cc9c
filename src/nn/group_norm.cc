#include "nn/group_norm.h"

#include <cmath>

namespace syrinx {

GroupNorm::GroupNorm(const Weights& weights, int64_t channels, int64_t groups, float eps)
    : weight_(weights.f32("weight", {channels})),
      bias_(weights.f32("bias", {channels})),
      groups_(groups),
      eps_(eps) {
  SYRINX_CHECK(groups > 0 && channels % groups == 0, "[group_norm] ", groups,
               " groups cannot divide ", channels, " channels");
}

void GroupNorm::operator()(StepContext& ctx, const View& x) const {
  const int64_t rows = x.shape[0], channels = weight_.view().count(), each = channels / groups_;
  expect_shape("group_norm", x, {rows, channels});
  if (rows == 0) return;
  const auto count = static_cast<double>(rows * each);
  ctx.pool.parallel_for(groups_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      double sum = 0, power = 0;
      const auto over = [&](auto&& take) {
        for (int64_t t = 0; t < rows; ++t) {
          float* row = x.f32() + t * channels + group * each;
          for (int64_t c = 0; c < each; ++c) take(row[c], group * each + c);
        }
      };
      over([&](float value, int64_t) { sum += value; });
      const double mean = sum / count;
      over([&](float value, int64_t) { power += (value - mean) * (value - mean); });
      const double scale = 1 / std::sqrt(power / count + eps_);
      over([&](float& value, int64_t c) {
        value = static_cast<float>((value - mean) * scale) * weight_.f32()[c] + bias_.f32()[c];
      });
    }
  });
}

}  // namespace syrinx
