// Sampling as the device sees it: rows without pointers to the host.
#pragma once

#include "kernels/sample.h"

namespace syrinx::cuda {

/// A SampleRow whose history lies on the device.
struct DeviceSampleRow {
  SampleParams params;
  SampleRule rule;
  int32_t history_begin = 0, history_count = 0;  ///< in SampleCall::history
  uint64_t seed = 0;
  uint32_t step = 0, codebook = 0;
  int32_t place = 0;   ///< where the id goes in SampleCall::ids
  int32_t again = -1;  ///< and once more; below 0: nowhere
};

/// All pointers on the device. One block a row; nothing is read back.
struct SampleCall {
  const float* logits = nullptr;  ///< [rows][vocabulary]
  int64_t vocabulary = 0;
  const DeviceSampleRow* rows = nullptr;
  const int32_t* history = nullptr;
  float* work = nullptr;  ///< [rows][vocabulary], unused when the vocabulary fits shared memory
  int32_t* ids = nullptr;
  int32_t* status = nullptr;  ///< of row i at i * status_stride
  int64_t status_stride = 1;
  int32_t failed = -1;  ///< the id of a row that cannot be sampled
};
constexpr int64_t kSharedVocabulary = 8192;

void launch_sample(StepContext& ctx, const SampleCall& call, int64_t rows);

}  // namespace syrinx::cuda
