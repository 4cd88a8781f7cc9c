// The arguments of one call of paged attention. Each cache type has its own file of kernels, so
// that the files compile in parallel.
#pragma once

#include "kernels/cuda/qkv.cuh"
#include "kernels/cuda/rows_out.h"
#include "tensor/context.h"

namespace syrinx::cuda {

struct AttentionCall {
  const float* q = nullptr;
  QkvHeads qkv;  // if its `rows` is not null: replaces q, and the kernel also stores its k and v
  RowsOut out;
  int64_t q_stride = 0, out_stride = 0;
  char* cache = nullptr;  // keys of kv head 0 in the layer's page 0; values follow
  int64_t part_bytes = 0, head_bytes = 0, page_bytes = 0;
  const int32_t *row_begin = nullptr, *kv_len = nullptr, *table = nullptr;
  const int32_t *begin = nullptr, *end = nullptr;  // [B], as in AttentionSpec; null without bounds
  const float* slopes = nullptr;  // [heads], as in AttentionSpec; null without slopes
  int max_pages = 0, group = 1, kv_heads = 1, dim = 0, tiles = 1, window = 0;
  bool causal = true;
  float scale = 1, cap = 0;
  float* partial = nullptr;  // if spread: [B][kv_heads][tiles][gridDim.x][kVectors][dim + 2]
  unsigned* counters = nullptr;
};

/// The most rows of a sequence with which a kernel spreads its groups over blocks, and stores k and
/// v itself.
constexpr int kFewRows = 4;

/// The sizes that determine the shape of a launch.
struct AttentionSize {
  int64_t sequences = 0;
  int max_rows = 0;        ///< most rows of a sequence
  int64_t max_groups = 0;  ///< most groups of pages to which a sequence attends
};

/// The largest heads that run on tensor cores: a block then needs at most 91 KB of shared memory.
constexpr int kMostTensorDim = 128;
/// Returns whether heads of this size run on tensor cores if the cache has 16 bits. It depends only
/// on the head size, so all rows of a sequence run on the same cores. SYRINX_GPU_ATTENTION=f32 runs
/// them on ordinary cores, to compare both on one machine.
bool on_tensor_cores(int dim);

void attend_f32(StepContext& ctx, const AttentionCall& call, const AttentionSize& size);
void attend_f16(StepContext& ctx, const AttentionCall& call, const AttentionSize& size);
void attend_bf16(StepContext& ctx, const AttentionCall& call, const AttentionSize& size);
void attend_i8(StepContext& ctx, const AttentionCall& call, const AttentionSize& size);

}  // namespace syrinx::cuda
