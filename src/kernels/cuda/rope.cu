// Rotary embedding, one thread per pair.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

struct Rope {
  float* x;  // first head of the first row
  int64_t stride;
  int heads, dim, half;
  bool interleaved;
  const int32_t* positions;
  const float *cos, *sin, *inv_freq;
  int64_t cached;

  __device__ void operator()(int64_t item) const {
    const int64_t pair = item % half, head = item / half % heads, row = item / half / heads;
    const int64_t position = positions[row];
    float c, s;
    if (position < cached) {
      c = cos[position * half + pair];
      s = sin[position * half + pair];
    } else {
      const double angle = static_cast<float>(position) * inv_freq[pair];
      c = static_cast<float>(::cos(angle));
      s = static_cast<float>(::sin(angle));
    }
    float* at = x + row * stride + head * dim;
    float& first = at[interleaved ? 2 * pair : pair];
    float& second = at[interleaved ? 2 * pair + 1 : pair + half];
    const float a = first, b = second;
    first = a * c - b * s;
    second = b * c + a * s;
  }
};

}  // namespace

void rope(StepContext& ctx, const HeadsView& x, std::span<const int32_t> positions,
          const RopeTable& table) {
  const Arena::Mark mark(ctx.arena);
  const int half = table.spec().dim / 2;
  for_each(
      ctx, "rope", x.count() * x.heads * half,
      Rope{x.rows.f32() + x.offset, x.stride(), x.heads, x.dim, half,
           table.spec().layout == RopeLayout::kInterleaved, upload(ctx, positions),
           table.cos().f32(), table.sin().f32(), table.inv_freq().f32(), table.cached_positions()});
}

}  // namespace syrinx::cuda
