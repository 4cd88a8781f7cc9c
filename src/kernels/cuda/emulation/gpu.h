// Emulates a GPU's programming model on the CPU, for tests on machines without a GPU. Every CUDA
// thread is a fiber. The fibers of a block run in turns on one OS thread until each one reaches the
// next barrier or exchange of its warp. Their order is different in every round. Blocks run one
// after another, in a different order in every launch. If some threads do not reach a barrier or an
// exchange, or an access is misaligned, the program ends with a message. The emulation detects
// wrong indices, missing and divergent barriers and wrong arithmetic. It cannot detect faults of
// real concurrency, caches or hardware instructions.
#pragma once

#include <math.h>  // C's functions in the global namespace, as in device code

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "base/float16.h"
#include "kernels/cuda/begin.h"
#include "kernels/cuda/emulation/memory.h"
#include "tensor/context.h"
#include "tensor/cuda/cuda_check.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}  // NOLINT
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

inline dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace syrinx::gpu::emulated {

/// Waits until all threads of the block have called it (__syncthreads).
void wait_for_block();
/// Passes `bytes` <= 32 bytes to the warp and waits for all lanes. In the result, lane i's bytes
/// begin at 32 * i. The result is valid until the second exchange after this one.
const unsigned char* exchange(const void* mine, size_t bytes);
void* dynamic_memory();
void begin_copy(void* to, const void* from, bool inside);
void commit_copies();
/// Completes this thread's asynchronous copies, except the last `pending` groups.
void finish_copies(int pending);
/// Runs a kernel; the caller has a DeviceAccess. With SYRINX_GPU_PDL=on, holds it back until the
/// next use of the device, so that a kernel that begins early can begin before it.
void run(const char* name, dim3 grid, dim3 block, size_t shared, bool early,
         const std::function<void()>& thread);
/// Runs the kernel that an early kernel did not wait for so far.
void wait_for_earlier();
int lane();

template <typename T>
T from_lane(T mine, int source) {
  static_assert(sizeof(T) <= 32);
  T out;
  std::memcpy(&out, exchange(&mine, sizeof(T)) + 32 * (source & 31), sizeof(T));
  return out;
}

}  // namespace syrinx::gpu::emulated

inline void __syncthreads() { syrinx::gpu::emulated::wait_for_block(); }
inline void __syncwarp() { syrinx::gpu::emulated::exchange(nullptr, 0); }
inline void __threadfence() {}
template <typename T>
T __shfl_sync(unsigned, T x, int source) {
  return syrinx::gpu::emulated::from_lane(x, source);
}
template <typename T>
T __shfl_xor_sync(unsigned, T x, int mask) {
  return syrinx::gpu::emulated::from_lane(x, syrinx::gpu::emulated::lane() ^ mask);
}
template <typename T>
T __shfl_up_sync(unsigned, T x, int by) {
  const int lane = syrinx::gpu::emulated::lane();
  return syrinx::gpu::emulated::from_lane(x, lane >= by ? lane - by : lane);
}
template <typename T>
T atomicAdd(T* at, T x) {
  const T before = *at;
  *at += x;
  return before;
}
template <typename T>
T atomicOr(T* at, T x) {
  const T before = *at;
  *at |= x;
  return before;
}
template <typename T>
T atomicMin(T* at, T x) {
  const T before = *at;
  *at = std::min(*at, x);
  return before;
}
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(std::lrint(x)); }

namespace syrinx::gpu {

inline float f16_to_float(uint16_t bits) { return f16_to_f32(bits); }
inline uint16_t float_to_f16(float x) { return f32_to_f16(x); }
inline uint16_t float_to_bf16(float x) { return f32_to_bf16(x); }
inline uint32_t pack_bf16(float low, float high) {
  return f32_to_bf16(low) | uint32_t{f32_to_bf16(high)} << 16;
}
inline uint32_t pack_f16(float low, float high) {
  return f32_to_f16(low) | uint32_t{f32_to_f16(high)} << 16;
}
void mma_bf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
              uint32_t b1);
void mma_f16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
             uint32_t b1);
void load_matrices(uint32_t (&out)[4], const void* row);
void load_matrices_transposed(uint32_t (&out)[4], const void* row);
/// Reads at once; writes to shared memory only in wait_copies(), so that an early use is noticed.
inline void copy_async(void* to, const void* from, bool inside) {
  emulated::begin_copy(to, from, inside);
}
inline void commit_copies() { emulated::commit_copies(); }
template <int kPending>
void wait_copies() {
  emulated::finish_copies(kPending);
}
inline uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = a | uint64_t{b} << 32;
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<uint32_t>(both >> (selector >> (4 * i) & 7) * 8 & 0xff) << (8 * i);
  return out;
}
inline float load_shared_result(const float* p) { return *p; }
inline bool wait_for(const unsigned* word, unsigned bits) { return (*word & bits) == bits; }
inline uint4 load_streaming(const uint4* p) { return *p; }
inline void prefetch(const void* p) { static_cast<void>(*static_cast<const volatile char*>(p)); }
template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(emulated::dynamic_memory());
}

inline void allow_next() {}
inline void wait_for_earlier() { emulated::wait_for_earlier(); }

template <typename... P, typename... A>
void launch_as(Begin begin, const char* name, void (*kernel)(P...), dim3 grid, dim3 block,
               size_t shared, Stream& stream, A... args) {
  SYRINX_CHECK(grid.x < 1u << 31 && grid.y <= 65535 && grid.z <= 65535, name,
               ": unsupported grid of ", grid.x, " x ", grid.y, " x ", grid.z, " blocks");
  const cuda::GpuLimits& limits = cuda::limits_of(stream.device());
  SYRINX_CHECK(shared <= static_cast<size_t>(limits.shared), name, ": a block may not have ",
               shared, " bytes of shared memory");
  const bool early = begin == Begin::kEarly && limits.early;
  const auto call = [=, &stream] {
    emulated::run_on(
        stream, name,
        [=] {
          emulated::run(name, grid, block, shared, early, [=] { kernel(static_cast<P>(args)...); });
        },
        (uint64_t{0} + ... + emulated::weights_at(&args, sizeof(args))));
  };
  stream.queue(call, kernel, grid, block, shared, early, static_cast<P>(args)...);
}

}  // namespace syrinx::gpu
