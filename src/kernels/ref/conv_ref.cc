#include "kernels/ref/conv_ref.h"

#include <vector>

namespace syrinx::ref {

void conv1d(const View& x, const View& weight, const View& bias, int64_t dilation, int64_t stride,
            int64_t groups, const View& out) {
  const int64_t channels = x.shape[1], in = weight.shape[1], taps = weight.shape[2];
  const int64_t o_count = weight.shape[0], per_group = o_count / groups;
  for (int64_t t = 0; t < out.shape[0]; ++t) {
    for (int64_t o = 0; o < o_count; ++o) {
      double sum = bias.empty() ? 0.0 : bias.f32()[o];
      for (int64_t j = 0; j < taps; ++j) {
        const float* row = x.f32() + (t * stride + j * dilation) * channels + o / per_group * in;
        for (int64_t c = 0; c < in; ++c)
          sum += double{row[c]} * weight.f32()[(o * in + c) * taps + j];
      }
      out.f32()[t * o_count + o] = static_cast<float>(sum);
    }
  }
}

void conv_transpose1d(const View& x, const View& weight, const View& bias, int64_t stride,
                      const View& out, int64_t groups) {
  const int64_t t_in = x.shape[0], channels = x.shape[1];
  const int64_t per_group = weight.shape[1], taps = weight.shape[2], o_count = per_group * groups;
  std::vector<double> sums(static_cast<size_t>(out.count()));
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = bias.empty() ? 0.0 : bias.f32()[static_cast<int64_t>(i) % o_count];
  }
  for (int64_t t = 0; t < t_in; ++t) {
    for (int64_t j = 0; j < taps; ++j) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t group = c / (channels / groups);
        for (int64_t o = 0; o < per_group; ++o) {
          sums[(t * stride + j) * o_count + group * per_group + o] +=
              double{x.f32()[t * channels + c]} * weight.f32()[(c * per_group + o) * taps + j];
        }
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) out.f32()[i] = static_cast<float>(sums[i]);
}

}  // namespace syrinx::ref
