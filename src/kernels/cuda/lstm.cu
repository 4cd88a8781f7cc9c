// The steps of an LSTM layer: one launch for a step of all streams. A layer of the published width
// 512 has 4 MB of recurrent weights, more than the shared memory of 16 multiprocessors; so all
// multiprocessors take part in a step, and read the weights from the second-level cache. A kernel
// for all steps would have to wait for all blocks after each step, which takes as long as a launch.
#include <algorithm>

#include "kernels/copy.h"
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/state.h"
#include "kernels/lstm.h"

namespace syrinx::cuda {
namespace {

constexpr int kUnits = 4;        // warps of a block; each computes one number of the hidden state
constexpr int kMostStreams = 8;  // streams of a block, for which it reads the weights once

struct LstmStream {
  const float *gates, *first;  // `first`: the hidden state before the first step
  float *hidden, *cell, *out;
  int64_t steps, stride;
};

__device__ inline float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }

struct LstmStep {
  const float *weight, *bias;  // [4H][padded_k], [4H] or null
  const LstmStream* streams;
  int64_t width, padded_k;
  int count;
};

/// Computes one step of kStreams streams per block. A warp adds the products of a gate in the same
/// order for any kStreams: each lane takes every 32nd, then the lanes' sums are added.
template <int kStreams>
__global__ void __launch_bounds__(32 * kUnits) lstm_step(LstmStep a, int64_t step) {
  constexpr int kLoads = kStreams > 1 ? 2 : 4;  // loads of a gate's weights in flight
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t unit = int64_t{blockIdx.x} * kUnits + threadIdx.x / 32;
  if (unit >= a.width) return;  // all threads of the warp take the same branch
  const LstmStream* streams = a.streams + blockIdx.y * kStreams;
  const int left = a.count - static_cast<int>(blockIdx.y) * kStreams;
  const int count = left < kStreams ? left : kStreams;
  const float* before[kStreams];  // the hidden states
#pragma unroll
  for (int s = 0; s < kStreams; ++s) {
    // A stream without this step has a sum that is not used.
    const LstmStream& stream = streams[s < count ? s : 0];
    const bool runs = step > 0 && step < stream.steps;
    before[s] = runs ? stream.out + (step - 1) * stream.stride * a.width : stream.first;
  }
  float sums[kStreams][4] = {};
  const float* weight = a.weight + unit * a.padded_k;
  const int64_t next_gate = a.width * a.padded_k;
  for (int64_t begin = 0; begin < a.width; begin += 32 * kLoads) {
    float w[kLoads][4], h[kStreams][kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int64_t k = begin + 32 * i + lane;
#pragma unroll
      for (int gate = 0; gate < 4; ++gate)
        w[i][gate] = k < a.width ? weight[gate * next_gate + k] : 0.f;
#pragma unroll
      for (int s = 0; s < kStreams; ++s) h[s][i] = k < a.width ? before[s][k] : 0.f;
    }
    // Keeps the loads together. Otherwise the compiler would move each load to its use.
    __syncwarp();
#pragma unroll
    for (int s = 0; s < kStreams; ++s) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
#pragma unroll
        for (int gate = 0; gate < 4; ++gate)
          sums[s][gate] = fmaf(w[i][gate], h[s][i], sums[s][gate]);
      }
    }
  }
  float own[4] = {};  // the gates of stream number `lane`
#pragma unroll
  for (int s = 0; s < kStreams; ++s) {
#pragma unroll
    for (int gate = 0; gate < 4; ++gate) {
      const float sum = gpu::warp_sum(sums[s][gate]);
      if (lane == s) own[gate] = sum;
    }
  }
  if (lane >= count || step >= streams[lane].steps) return;
  const LstmStream stream = streams[lane];
  const float* gates = stream.gates + step * stream.stride * 4 * a.width;
#pragma unroll
  for (int gate = 0; gate < 4; ++gate) {
    const int64_t at = gate * a.width + unit;
    own[gate] = gates[at] + (a.bias ? own[gate] + a.bias[at] : own[gate]);
  }
  const float kept = sigmoid(own[1]) * stream.cell[unit];
  const float cell = fmaf(sigmoid(own[0]), tanhf(own[2]), kept);
  const float hidden = sigmoid(own[3]) * tanhf(cell);
  stream.cell[unit] = cell;
  stream.out[step * stream.stride * a.width + unit] = hidden;
  if (step + 1 == stream.steps) stream.hidden[unit] = hidden;
}

}  // namespace

void lstm(StepContext& ctx, const PackedLinear& recurrent, std::span<const LstmSteps> streams) {
  if (streams.empty()) return;
  const int64_t width = recurrent.in();
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  // The last step writes the hidden state while other blocks may still read it, so they read a
  // copy.
  float* first = take<float>(ctx, std::ssize(streams) * width);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, std::ssize(streams));
  const std::span<LstmStream> list = take_array<LstmStream>(ctx, std::ssize(streams));
  int64_t steps = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    const LstmSteps& s = streams[i];
    float* own = first + static_cast<int64_t>(i) * width;
    copies[i] = {s.hidden, own, width};
    list[i] = {s.gates, own, s.hidden, s.cell, s.out, s.steps, s.stride};
    steps = std::max(steps, s.steps);
  }
  if (steps == 0) return;
  cuda::copy_spans(ctx, copies);
  LstmStep call;
  call.weight = static_cast<const float*>(recurrent.matrix().data.view().data);
  call.bias = recurrent.bias();
  call.streams = upload(ctx, std::span<const LstmStream>(list));
  call.width = width;
  call.padded_k = matrix_padded_k(width);
  call.count = static_cast<int>(streams.size());
  const bool one = call.count == 1;
  const dim3 grid(gpu::blocks_for(width, kUnits),
                  gpu::blocks_for(static_cast<int64_t>(streams.size()), one ? 1 : kMostStreams));
  const auto kernel = one ? lstm_step<1> : lstm_step<kMostStreams>;
  for (int64_t step = 0; step < steps; ++step)
    gpu::launch("lstm", kernel, grid, 32 * kUnits, 0, stream_of(ctx), call, step);
}

}  // namespace syrinx::cuda
