// 1-D convolutions on channels-last data: products over windows (on tensor cores if the weights are
// bf16), and depthwise convolutions.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {
namespace {

/// Returns whether SYRINX_GPU_CONVS=f32 is set. It runs convolutions without tensor cores, to
/// compare both variants on one machine.
bool wants_f32() {
  const char* value = std::getenv("SYRINX_GPU_CONVS");
  return value != nullptr && std::string_view(value) == "f32";
}

struct Depthwise {
  const TileCall::Segment* segments;  // first_tile counts the rows in earlier segments
  int segment_count;
  const float *w, *bias;
  int64_t channels, phases, taps, dilation, stride;

  __device__ void operator()(int64_t i) const {
    const int64_t width = phases * channels;
    const RowColumn at = row_and_column(i, width);
    const int64_t row = at.row, column = at.column;
    const TileCall::Segment& segment = segments[gpu::highest(
        0, segment_count - 1, [&](int s) { return segments[s].first_tile <= row; })];
    const int64_t t = row - segment.first_tile;
    const float* x = segment.x + t * stride * channels + row_and_column(column, channels).column;
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
  const bool depthwise = !w.depthwise_weight().empty();
  const bool tensor_cores = !depthwise && w.matrix().type == WeightType::kBF16 && !wants_f32();
  std::vector<TileCall::Segment> parts;
  int64_t tiles = 0, rows = 0;
  bool aligned = true;
  for (const ConvSegment& s : segments) {
    const int64_t n = s.out.shape[0] / phases;
    if (n == 0) continue;
    parts.push_back({s.x.f32(), s.out.f32(), n, depthwise || tensor_cores ? rows : tiles});
    aligned = aligned && reinterpret_cast<uintptr_t>(s.x.f32()) % 16 == 0;
    tiles += (n + kTileRows - 1) / kTileRows;
    rows += n;
  }
  if (parts.empty()) return;
  const auto* uploaded = upload(ctx, std::span<const TileCall::Segment>(parts));
  const auto count = static_cast<int>(parts.size());
  if (depthwise) {
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
    if (tensor_cores) {
      conv_gemm(ctx, call, rows, aligned);
    } else {
      tile_gemm(ctx, call);
    }
  }
}

}  // namespace syrinx::cuda
