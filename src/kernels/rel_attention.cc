#include "kernels/rel_attention.h"

#include "kernels/cuda/solver.h"

namespace syrinx {
namespace {

constexpr int64_t kMostDim = 128;

}  // namespace

void attend_relative(StepContext& ctx, const View& q, const View& u, const View& v,
                     const RelRows& stream, int64_t heads, const View& out) {
  const int64_t rows = q.shape[0], width = q.shape[1], all = stream.keys.shape[0];
  SYRINX_CHECK(q.device == Device::kCuda, "[attend_relative] the operands must be on a GPU");
  SYRINX_CHECK(heads > 0 && width % heads == 0 && width / heads <= kMostDim && rows <= all,
               "[attend_relative] ", rows, " rows of ", heads, " heads in width ", width,
               " do not fit ", all, " rows of the stream");
  expect_shape("attend_relative", u, {heads, width / heads});
  expect_shape("attend_relative", v, u.shape);
  expect_shape("attend_relative", stream.keys, {all, width});
  expect_shape("attend_relative", stream.values, {all, width});
  expect_shape("attend_relative", out, q.shape);
  // The first row's distances to the last row, and the last row's to the first.
  SYRINX_CHECK(stream.nearest <= 1 - rows && stream.distances.shape[0] + stream.nearest >= all,
               "[attend_relative] ", stream.distances.shape[0], " distances from ", stream.nearest,
               " on do not fit ", all, " rows");
  if (rows > 0) cuda::attend_relative(ctx, q, u, v, stream, heads, out);
}

void encode_distances(StepContext& ctx, int64_t first, const View& out) {
  SYRINX_CHECK(out.device == Device::kCuda, "[encode_distances] the operand must be on a GPU");
  if (out.count() > 0) cuda::encode_distances(ctx, first, out);
}

}  // namespace syrinx
