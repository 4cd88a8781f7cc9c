// Rotary embedding, one thread per pair.
#include "kernels/cuda/angles.cuh"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

struct Rope {
  float* x;  // first head of the first row
  int64_t stride;
  int heads, dim;
  bool interleaved;
  const int32_t* positions;
  Angles angles;

  __device__ void operator()(int64_t item) const {
    const int64_t half = angles.half;
    const int64_t pair = item % half, head = item / half % heads, row = item / half / heads;
    float c, s;
    angles.get(positions[row], pair, &c, &s);
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
  for_each(
      ctx, "rope", x.count() * x.heads * (table.spec().dim / 2),
      Rope{x.rows.f32() + x.offset, x.stride(), x.heads, x.dim,
           table.spec().layout == RopeLayout::kInterleaved, upload(ctx, positions), Angles(table)});
}

}  // namespace syrinx::cuda
