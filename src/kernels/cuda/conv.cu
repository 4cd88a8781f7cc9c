// 1-D convolutions on channels-last data: the tiled product over windows, and depthwise ones.
#include <vector>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {
namespace {

struct Depthwise {
  const TileCall::Segment* segments;  // first_tile: first of the rows of all segments
  int segment_count;
  const float *w, *bias;
  int64_t channels, phases, taps, dilation, stride;

  __device__ void operator()(int64_t i) const {
    const int64_t width = phases * channels, row = i / width, column = i % width;
    const TileCall::Segment& segment = segments[gpu::highest(
        0, segment_count - 1, [&](int s) { return segments[s].first_tile <= row; })];
    const int64_t t = row - segment.first_tile;
    const float* x = segment.x + t * stride * channels + column % channels;
    float sum = bias ? bias[column] : 0.f;
    for (int64_t j = 0; j < taps; ++j)
      sum = fmaf(w[j * width + column], x[j * dilation * channels], sum);
    segment.out[t * width + column] = sum;
  }
};

}  // namespace

void conv1d(StepContext& ctx, const PackedConv1d& w, std::span<const ConvSegment> segments,
            int64_t phases, int64_t dilation, int64_t stride) {
  const Arena::Mark mark(ctx.arena);
  std::vector<TileCall::Segment> parts;
  int64_t tiles = 0, rows = 0;
  for (const ConvSegment& s : segments) {
    const int64_t n = s.out.shape[0] / phases;
    if (n == 0) continue;
    parts.push_back({s.x.f32(), s.out.f32(), n, w.depthwise_weight().empty() ? tiles : rows});
    tiles += (n + kTileRows - 1) / kTileRows;
    rows += n;
  }
  if (parts.empty()) return;
  const auto* uploaded = upload(ctx, std::span<const TileCall::Segment>(parts));
  const auto count = static_cast<int>(parts.size());
  if (!w.depthwise_weight().empty()) {
    for_each(ctx, "depthwise", rows * w.out(),
             Depthwise{uploaded, count, w.depthwise_weight().f32(), w.bias(), w.in(),
                       w.out() / w.in(), w.taps(), dilation, stride});
    return;
  }
  const int64_t in = w.in() / w.groups(), out = w.out() / w.groups();
  const int64_t panel_rows = w.matrix().panels() * PackedMatrix::kPanel / w.groups();
  const size_t size = w.matrix().type == WeightType::kBF16 ? 2 : 4;
  TileCall call;
  call.bf16 = size == 2;
  call.rows = panel_rows;
  call.k = w.matrix().k;
  call.padded_k = matrix_padded_k(call.k);
  call.segments = uploaded;
  call.segment_count = count;
  call.tiles = tiles;
  call.x_stride = stride * w.in();
  call.span_len = in;
  call.span_step = dilation * w.in();
  call.out.count = 1;
  for (int64_t g = 0; g < w.groups(); ++g) {
    call.weight = static_cast<const char*>(w.matrix().data.view().data) +
                  static_cast<size_t>(g * panel_rows * call.padded_k) * size;
    call.x_offset = g * in;
    call.out.bias = w.bias() ? w.bias() + g * panel_rows : nullptr;
    call.out.parts[0] = {0, static_cast<int>(out), nullptr, w.out(), g * out};
    tile_gemm(ctx, call);
  }
}

}  // namespace syrinx::cuda
