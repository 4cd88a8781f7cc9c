// For tests of sampling: draws on the CPU or another device.
#pragma once

#include <map>

#include "kernels/fixture.h"
#include "kernels/sample.h"

namespace syrinx::draws {

/// Samples one row; returns its id and, if `status` is not null, writes its status.
inline int32_t one(Device device, const View& logits, const SampleRow& row,
                   SampleStatus* status = nullptr) {
  static std::map<Device, fixture::Bench> benches;
  fixture::Bench& bench = benches.try_emplace(device, 1, device).first->second;
  int32_t id = -7;
  SampleStatus state;
  sample(bench.ctx, bench.on(logits), {&row, 1}, {&id, 1}, {&state, 1});
  bench.back();
  bench.arena.reset();
  if (status) *status = state;
  return id;
}

/// Returns how often a row draws each id.
inline std::map<int32_t, int> drawn(const Tensor& logits, SampleRow row, int draws) {
  std::map<int32_t, int> seen;
  for (row.step = 0; row.step < static_cast<uint32_t>(draws); ++row.step) {
    ++seen[one(Device::kCpu, logits, row)];
  }
  return seen;
}

}  // namespace syrinx::draws
