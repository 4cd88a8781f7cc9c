// Tests that the emulated GPUs (kernels/cuda/emulation) detect work for the wrong GPU, and what a
// real GPU cannot show: limits of memory, priorities of streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "codec/s3_flow_pages.h"
#include "engine/collector.h"
#include "io/file.h"
#include "kernels/activation.h"
#include "kernels/cuda/emulation/memory.h"
#include "runtime/runtime.h"
#include "tensor/device_health.h"

namespace syrinx {
namespace {

class EmulatedGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_names().size() < 2) GTEST_SKIP() << "SYRINX_EMULATED_GPUS";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  ThreadPool pool_{1};
};

TEST_F(EmulatedGpus, AKernelCannotReadAnotherGpu) {
  const auto add_from = [&](Device device) {
    Workspace space(pool_, Device::gpu(0));
    const Tensor x({1, 64}, DType::kF32, Device::gpu(0)), y({1, 64}, DType::kF32, device);
    add_inplace(space.context(), x, y);
    synchronize(space.context());
  };
  add_from(Device::gpu(0));
  EXPECT_DEATH(add_from(Device::gpu(1)), "on cuda:0 accesses memory of cuda:1");
}

TEST_F(EmulatedGpus, ACopyCannotReadAnotherGpu) {
  const auto stream = Stream::create(Device::gpu(0));
  const Tensor own({8}, DType::kF32, Device::gpu(0)), other({8}, DType::kF32, Device::gpu(1));
  std::vector<float> host(8);
  stream->download(own.f32(), host.data(), own.bytes());
  EXPECT_THROW(stream->download(other.f32(), host.data(), own.bytes()), InternalError);
  EXPECT_THROW(stream->upload(host.data(), other.f32(), own.bytes()), InternalError);
}

TEST_F(EmulatedGpus, AKernelNeedsTheGpuOfItsStream) {
  const auto stream = Stream::create(Device::gpu(1));
  // A new thread's current GPU is the first one.
  std::thread([&] {
    EXPECT_THROW(gpu::emulated::run_on(*stream, "nothing", [] {}), InternalError);
    bool ran = false;
    stream->queue([&] { gpu::emulated::run_on(*stream, "nothing", [&] { ran = true; }); });
    EXPECT_TRUE(ran);
  }).join();
}

TEST_F(EmulatedGpus, AFullGpuSaysWhatWouldFit) {
  constexpr size_t kMib = size_t{1} << 20;
  gpu::emulated::set_memory(Device::gpu(1), 100 * kMib);
  const Tensor there({int64_t{60} << 20}, DType::kU8, Device::gpu(1));
  try {
    const Tensor more({int64_t{50} << 20}, DType::kU8, Device::gpu(1));
    FAIL();
  } catch (const LoadError& fault) {
    const std::string text = fault.what();
    EXPECT_TRUE(
        text.starts_with("cuda:1 has too little memory: 50 MiB are needed next, 40 of 100 "
                         "MiB are free; give a stage to another GPU (--device "
                         "NODE=cuda:N; "))
        << text;
    EXPECT_NE(text.find(" MiB are free on cuda:0), or use --weights q8"), std::string::npos)
        << text;
  }
  const Tensor fits({int64_t{30} << 20}, DType::kU8, Device::gpu(1));
  gpu::emulated::set_memory(Device::gpu(1), size_t{80} << 30);
}

/// A GPU keeps the memory of small tensors for later ones of the same size.
TEST_F(EmulatedGpus, AFullGpuReusesTheMemoryOfAnUnloadedModel) {
  constexpr int64_t kMib = 1 << 20;
  const Device device = Device::gpu(1);
  gpu::emulated::keeps_pieces = true;
  gpu::emulated::set_memory(device, 100 * kMib);
  {
    std::vector<Tensor> model;
    for (int i = 0; i < 9; ++i) model.emplace_back(Shape{10 * kMib}, DType::kU8, device);
  }
  const Tensor same({10 * kMib}, DType::kU8, device);
  const Tensor other({80 * kMib}, DType::kU8, device);
  EXPECT_THROW(Tensor({11 * kMib}, DType::kU8, device), LoadError);
  gpu::emulated::keeps_pieces = false;
  gpu::emulated::set_memory(device, size_t{80} << 30);
}

TEST_F(EmulatedGpus, MemoryGrowsUntilTheGpuIsFull) {
  constexpr size_t kMib = size_t{1} << 20;
  const Device device = Device::gpu(1);
  gpu::emulated::set_memory(device, 100 * kMib);
  {
    const auto memory = GrowingMemory::reserve(device, 500 * kMib);
    const Tensor there({int64_t{60} << 20}, DType::kU8, device);  // addresses need no memory
    const auto part = [&](size_t begin, size_t bytes) {
      return View{static_cast<char*>(memory->begin()) + begin,
                  DType::kU8,
                  {static_cast<int64_t>(bytes)},
                  device};
    };
    memory->grow(10 * kMib);
    std::vector<uint8_t> host(3, 7);
    const View ends{host.data(), DType::kU8, {3}};
    device_copy(ends, part(10 * kMib - 3, 3));
    memory->grow(20 * kMib);
    EXPECT_THROW(memory->grow(50 * kMib), LoadError);
    EXPECT_THROW(memory->grow(600 * kMib), InternalError);
    Tensor both({6}, DType::kU8);
    device_copy(part(10 * kMib - 3, 6), both);
    const auto* got = static_cast<const uint8_t*>(both.view().data);
    EXPECT_EQ(std::vector<uint8_t>(got, got + 6), (std::vector<uint8_t>{7, 7, 7, 0, 0, 0}));
  }
  const Tensor again({int64_t{90} << 20}, DType::kU8, device);
  gpu::emulated::set_memory(device, size_t{80} << 30);
}

/// The memory of the GPU limits the frames of a flow's streams, not the number of its groups.
TEST_F(EmulatedGpus, AFullGpuRefusesPagesOfAFlow) {
  const Device device = Device::gpu(1);
  gpu::emulated::set_memory(device, size_t{100} << 20);
  constexpr int64_t kSlots = 256;  // a group has 1 MiB
  const auto pages =
      std::make_shared<S3FlowPages>(KvSpec{1, 2, 8, DType::kF32}, kSlots, 1000, device);
  std::vector<S3FlowPages::Group> held;
  EXPECT_THROW(for (int i = 0; i < 200; ++i) held.push_back(pages->take()), LoadError);
  EXPECT_GT(held.size(), 50u);
  EXPECT_LE(held.size(), 100u);
  held.pop_back();
  held.push_back(pages->take());
  EXPECT_THROW(pages->take(), LoadError);
  gpu::emulated::set_memory(device, size_t{80} << 30);
  held.push_back(pages->take());
}

TEST_F(EmulatedGpus, StreamsOfStepsGoBeforeThoseOfCodecs) {
  const auto first = Stream::create(Device::gpu(1), StreamPriority::kHigh),
             later = Stream::create(Device::gpu(1));
  const int high = gpu::emulated::priority_of(*first), low = gpu::emulated::priority_of(*later);
  EXPECT_LT(high, low);

  const std::string dir = SYRINX_BINARY_DIR "/parity/csm/golden/taught/checkpoint";
  LoadOptions options;
  options.model = dir;
  options.device = "cuda";
  options.engine.threads = 2;
  const auto engine = load_engine(options);
  SpeechRequest request;
  request.say.text = "Hello there.";
  request.voice.name = "0";
  request.terms.max_frames = 6;
  auto sink = std::make_shared<Collector>();
  ASSERT_TRUE(engine->submit(request, sink).ok());
  ASSERT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
  const std::set<std::string> steps = gpu::emulated::kernels_at(high),
                              chunks = gpu::emulated::kernels_at(low);
  const auto any = [](const std::set<std::string>& names, const std::string& part) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return name.find(part) != name.npos; });
  };
  // Only steps draw codes, and only codecs have convolutions.
  EXPECT_TRUE(any(steps, "sample") && !any(steps, "conv")) << testing::PrintToString(steps);
  EXPECT_TRUE(any(chunks, "conv") && !any(chunks, "sample")) << testing::PrintToString(chunks);
}

}  // namespace
}  // namespace syrinx
