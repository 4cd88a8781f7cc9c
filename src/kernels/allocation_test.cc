// Checks that linears and convolutions do not allocate once their arena has seen the same shapes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kernels/conv.h"
#include "kernels/fixture.h"
#include "kernels/linear.h"

namespace {
std::atomic<int64_t> allocations{0};
}

__attribute__((noinline)) void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace syrinx {
namespace {

using fixture::random;

TEST(Allocation, SteadyStateTakesNone) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  std::vector<PackedLinear> linears;
  for (const WeightType type :
       {WeightType::kF32, WeightType::kBF16, WeightType::kQ8, WeightType::kQ8A8, WeightType::kQ4}) {
    linears.push_back(PackedLinear::pack(random({600, 500}, 1), type));
  }
  const PackedConv1d conv = PackedConv1d::pack(random({64, 64, 7}, 2));
  const PackedConv1d depthwise = PackedConv1d::pack(random({64, 1, 7}, 3), {}, 64);
  const auto transposed = PackedConvTranspose1d::pack(random({64, 32, 4}, 4), 2);
  const Tensor x = random({40, 500}, 5), audio = random({406, 64}, 6);
  Tensor out({40, 600}, DType::kF32), wave({400, 64}, DType::kF32), up({810, 32}, DType::kF32);
  const ConvSegment segments[] = {{audio.view().slice(0, 306), wave.view().slice(0, 300)},
                                  {audio.view().slice(300, 406), wave.view().slice(300, 400)}};
  auto step = [&] {
    for (const PackedLinear& w : linears) {
      linear(ctx, w, x, out);
      linear_add(ctx, w, x, out);
    }
    conv1d(ctx, conv, segments);
    conv1d(ctx, depthwise, segments);
    conv_transpose1d(ctx, transposed, audio, up);
    arena.reset();
  };
  step();
  step();
  const int64_t before = allocations.load();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace syrinx
