// The state that CUDA kernels keep per stream, and small helpers for their host code.
#pragma once

#include <memory>
#include <span>

#include "tensor/context.h"

namespace syrinx::cuda {

struct KernelState {
  static constexpr int64_t kCounters = 1 << 16;
  explicit KernelState(Device device)
      : counters({kCounters}, DType::kI32, device), norm_state({1}, DType::kI32, device) {}
  // Both are all zero between launches.
  Tensor counters, norm_state;
};

inline KernelState& state_of(StepContext& ctx) {
  SYRINX_CHECK(ctx.stream, "[cuda] a kernel for operands on a GPU needs a stream");
  if (!ctx.stream->kernel_state)
    ctx.stream->kernel_state = std::make_shared<KernelState>(ctx.device);
  return *static_cast<KernelState*>(ctx.stream->kernel_state.get());
}

inline Stream& stream_of(StepContext& ctx) {
  SYRINX_CHECK(ctx.stream, "[cuda] a kernel for operands on a GPU needs a stream");
  return *ctx.stream;
}

/// Uploads host numbers to the device. The upload is complete when the stream's next kernel runs,
/// and valid until the arena releases the memory.
template <typename T>
T* upload(StepContext& ctx, std::span<const T> host) {
  if (void* there = stream_of(ctx).staged(host.data(), host.size_bytes()))
    return static_cast<T*>(there);
  const auto bytes = static_cast<int64_t>(host.size_bytes());
  auto* to = static_cast<T*>(ctx.arena.take({bytes}, DType::kU8).data);
  if (bytes > 0) stream_of(ctx).upload(host.data(), to, host.size_bytes());
  return to;
}

/// Allocates memory for `count` objects of T in the arena.
template <typename T>
T* take(StepContext& ctx, int64_t count) {
  const auto size = static_cast<int64_t>(sizeof(T));
  return static_cast<T*>(ctx.arena.take({count * size}, DType::kU8).data);
}

}  // namespace syrinx::cuda
