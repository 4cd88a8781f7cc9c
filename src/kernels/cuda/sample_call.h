// The arguments of sampling on the device. Rows contain no pointers to host memory.
#pragma once

#include "kernels/sample.h"

namespace syrinx::cuda {

/// A SampleRow whose history, ranges and mask are on the device.
struct DeviceSampleRow {
  SampleParams params;
  int32_t forced = -1, wanted = -1, wanted_among = 1;  ///< as in SampleRule
  int32_t range_begin = 0, range_count = 0;            ///< range in SampleCall::ranges
  int32_t history_begin = 0, history_count = 0;        ///< range in SampleCall::history
  int32_t mask_begin = 0, mask_count = 0;  ///< words in SampleCall::masks; 0 words: no mask
  uint64_t seed = 0;
  uint32_t step = 0, codebook = 0;
  int32_t place = 0;   ///< index in SampleCall::ids at which the id is written
  int32_t again = -1;  ///< another index at which the id is written; negative: none
};

/// A call. All pointers are on the device. One block per row; the host reads no results back.
struct SampleCall {
  const float* logits = nullptr;  ///< [rows][vocabulary]
  int64_t vocabulary = 0;
  const DeviceSampleRow* rows = nullptr;
  const IdRange* ranges = nullptr;  ///< ranges within the vocabulary; none is empty
  const int32_t* history = nullptr;
  const uint64_t* masks = nullptr;
  float* work = nullptr;  ///< [rows][vocabulary]; unused if the vocabulary fits in shared memory
  int32_t* ids = nullptr;
  int32_t* status = nullptr;  ///< row i's status is at i * status_stride
  int64_t status_stride = 1;
  int32_t failed = -1;  ///< the id written for a row that cannot be sampled
};
constexpr int64_t kSharedVocabulary = 8192;

void launch_sample(StepContext& ctx, const SampleCall& call, int64_t rows);

}  // namespace syrinx::cuda
