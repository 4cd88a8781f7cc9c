// The primitives of gpu.cuh for a real GPU.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <mutex>
#include <set>
#include <utility>

#include "kernels/cuda/begin.h"
#include "tensor/cuda/cuda_check.h"

// __builtin_clear_padding is required: padding in launch arguments would look like a difference, so
// that no recorded step (Stream::repeat) would ever be played.
#if !defined(__CUDA_ARCH__)
#if !defined(__has_builtin)
#error "the host compiler lacks __has_builtin"
#elif !__has_builtin(__builtin_clear_padding)
#error "the host compiler lacks __builtin_clear_padding"
#endif
#endif

namespace syrinx::gpu {

__device__ inline float f16_to_float(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
__device__ inline uint16_t float_to_f16(float x) { return __half_as_ushort(__float2half_rn(x)); }
__device__ inline uint16_t float_to_bf16(float x) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}
/// Packs two bf16 in one word; `low` is in the lower half.
__device__ inline uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}
__device__ inline uint32_t pack_f16(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}

/// Computes c [16, 8] += a [16, 16] b [16, 8] in a warp: bf16, f32 sums, fragments of PTX
/// mma.m16n8k16. The k of a lane's numbers may be permuted if a and b have the same permutation.
__device__ inline void mma_bf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// As mma_bf16, with numbers of f16.
__device__ inline void mma_f16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                               uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/// Loads four matrices [8, 8] of 16-bit numbers from shared memory in a warp. Lane 8 i + r passes
/// the address of row r of matrix i (16 bytes). Lane 4 g + t gets of each matrix the numbers 2 t
/// and 2 t + 1 of row g.
__device__ inline void load_matrices(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}
/// As load_matrices; lane 4 g + t gets the numbers g of rows 2 t and 2 t + 1.
__device__ inline void load_matrices_transposed(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// Begins to copy 16 bytes from memory to shared memory; writes zeros, and reads nothing, if not
/// `inside`. The thread has the bytes after wait_copies(), other threads after a barrier.
__device__ inline void copy_async(void* to, const void* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(inside ? 16 : 0)
               : "memory");
}
/// Ends a group of this thread's copies.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the last kPending groups of this thread's copies are not complete.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Returns four bytes selected from the eight of (a, b), as PTX prmt.
__device__ inline uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  return __byte_perm(a, b, selector);
}

/// Reads past the first-level cache, because other blocks wrote these results in this launch.
__device__ inline float load_shared_result(const float* p) { return __ldcg(p); }

/// Waits for a limited time until *word has all of `bits`, and returns whether it has. In each other
/// block of the launch, the thread that sets bits has called __threadfence() after a barrier of its
/// block. What the blocks wrote before is visible to all threads of this block after the next
/// __syncthreads().
__device__ inline bool wait_for(const unsigned* word, unsigned bits) {
  constexpr int kMostReads = 128;  // a read past the first-level cache takes about 0.5 us
  bool all = false;
  for (int i = 0; i < kMostReads && !all; ++i)
    all = (*static_cast<const volatile unsigned*>(word) & bits) == bits;
  __threadfence();
  return all;
}

/// Reads data that is used once, such as weights and cache entries, without caching it.
__device__ inline uint4 load_streaming(const uint4* p) { return __ldcs(p); }

/// Begins to move the line of 128 bytes at p to the second-level cache.
__device__ inline void prefetch(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/// Lets the next kernel of the stream begin, if it may begin early, as soon as all blocks of this
/// kernel have begun.
__device__ inline void allow_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// Waits until the earlier kernels of the stream have ended and their results are visible. A kernel
/// that may begin early calls it in every thread. Before this call, it may only read what no kernel
/// writes, and may not use shared memory.
__device__ inline void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <typename T>
__device__ inline T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char syrinx_dynamic_shared[];
  return reinterpret_cast<T*>(syrinx_dynamic_shared);
}

/// Allows a kernel the largest dynamic shared memory of `device`, which must be the current GPU,
/// once per GPU and kernel. If each launch set its own limit, a thread could lower the limit while
/// another is about to launch.
inline void allow_shared(const char* name, const void* kernel, Device device) {
  static std::mutex mutex;
  static std::set<std::pair<int, const void*>> allowed;
  const std::lock_guard lock(mutex);
  if (!allowed.insert({device.number(), kernel}).second) return;
  cudaFuncAttributes own{};
  cuda::check(cudaFuncGetAttributes(&own, kernel), name);
  const int dynamic = cuda::limits_of(device).shared - static_cast<int>(own.sharedSizeBytes);
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic),
              name);
}

template <typename... P, typename... A>
void launch_as(Begin begin, const char* name, void (*kernel)(P...), dim3 grid, dim3 block,
               size_t shared, Stream& stream, A... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const auto to = static_cast<cudaStream_t>(stream.native());
  const Device device = stream.device();
  const bool early = begin == Begin::kEarly && cuda::limits_of(device).early;
  const auto call = [=] {
    // The kernel's static arrays and this memory together may exceed the default of 48 KB.
    if (shared > 8u << 10) allow_shared(name, reinterpret_cast<const void*>(kernel), device);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = to;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    cuda::check(cudaLaunchKernelEx(&config, kernel, P(args)...), name);
  };
  stream.queue(call, kernel, grid, block, shared, early, P(args)...);
}

}  // namespace syrinx::gpu
