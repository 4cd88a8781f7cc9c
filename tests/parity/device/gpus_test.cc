// Tests models whose stages are on several GPUs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "engine/collector.h"
#include "engine/machine.h"
#include "io/file.h"
#include "runtime/runtime.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

class Gpus : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_names().size() < 2) GTEST_SKIP() << "needs two GPUs";
    if (!is_directory(checkpoint())) GTEST_SKIP() << "the kit has no such checkpoint";
  }
  static std::string checkpoint() {
    const char* other = std::getenv("SYRINX_GOLDENS");  // where the kit has them (tools/gpu_kit)
    return std::string(other ? other : SYRINX_BINARY_DIR "/parity") +
           "/csm/golden/taught/checkpoint";
  }
  /// Returns options for the model on these devices.
  static LoadOptions options(const std::string& devices) {
    LoadOptions out;
    out.model = checkpoint();
    out.weights = "f32";
    out.device = devices;
    out.engine.threads = 2;
    out.engine.max_unread_s = 1e9;
    return out;
  }
  static std::string load_fault(const std::string& devices) try {
    (void)load_pipeline(options(devices));
    return "";
  } catch (const LoadError& fault) {
    return fault.what();
  }
  static std::shared_ptr<Collector> submit(Engine& engine) {
    SpeechRequest request;
    request.say.text = "Hello there.";
    request.voice.name = "0";
    request.sampling.seed = 5;
    request.terms.max_frames = 6;
    request.terms.ignore_stop = true;
    auto sink = std::make_shared<Collector>();
    EXPECT_TRUE(engine.submit(request, sink).ok());
    return sink;
  }
  static std::vector<float> samples(Collector& sink) {
    EXPECT_NE(sink.wait().reason, FinishReason::kError) << sink.wait().error.message;
    EXPECT_FALSE(sink.samples().empty());
    return sink.samples();
  }
};

TEST_F(Gpus, StagesOnTwoSpeakAsOnOne) {
  const auto one = load_engine(options("cuda"));
  const std::vector<float> want = samples(*submit(*one));
  const std::pair<std::string, std::vector<std::string>> places[] = {
      {"cuda:0,codec=cuda:1", {"cuda:0", "cuda:1"}},
      {"cuda:1,codec=cuda:0", {"cuda:1", "cuda:0"}},
      {"cuda:1", {"cuda:1", "cuda:1"}}};
  for (const auto& [devices, names] : places) {
    const auto engine = load_engine(options(devices));
    EXPECT_TRUE(samples(*submit(*engine)) == want) << devices;
    for (size_t n = 0; n < names.size(); ++n)
      EXPECT_EQ(engine->metrics().stages[n].device, names[n]);
    EXPECT_GT(engine->metrics().stages[0].replayed.value(), 0) << devices;
  }
}

TEST_F(Gpus, ModelsOfOneMachineMayHaveOneEach) {
  const auto first = load_engine(options("cuda:0"));
  const auto second = load_engine(options("cuda:1"), first->machine());
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 3; ++i) {
    sinks.push_back(submit(*first));
    sinks.push_back(submit(*second));
  }
  const std::vector<float> want = samples(*sinks[0]);
  for (const auto& sink : sinks) EXPECT_TRUE(samples(*sink) == want);
}

TEST_F(Gpus, AStageMayStayOnTheCpu) {
  const auto pipeline = load_pipeline(options("cuda:1,codec=cpu"));
  EXPECT_EQ(pipeline->graph().ar().device(), Device::gpu(1));
  EXPECT_EQ(pipeline->graph().node(1).chunk->device(), Device::kCpu);
  const auto other = load_pipeline(options("cpu,codec=cuda:1"));
  EXPECT_EQ(other->graph().ar().device(), Device::kCpu);
  EXPECT_EQ(other->graph().node(1).chunk->device(), Device::gpu(1));
}

TEST_F(Gpus, PlacesThatAreImpossibleAreNamed) {
  EXPECT_EQ(load_fault("cuda:0,voice=cuda:1"),
            "--device voice=cuda:1: the model has no such stage, only ar, codec");
  const std::string last = device_name(Device::gpu(static_cast<int>(gpu_names().size()) - 1));
  EXPECT_EQ(load_fault("cuda:63"),
            "--device cuda:63: no GPU 63: the last GPU of this machine is " + last);
  EXPECT_EQ(load_fault("codec=cuda:63"),
            "--device codec=cuda:63: no GPU 63: the last GPU of this machine is " + last);
}

/// A process whose stage runs on a GPU introduces itself as such, also if the rest of its model
/// runs on the CPU.
TEST_F(Gpus, AnIntroductionNamesEachKindOfDevice) {
  const std::string cpu = introduce(options("cpu")).cpu;
  EXPECT_EQ(introduce(options("cpu,codec=cpu")).cpu, cpu);
  EXPECT_EQ(introduce(options("cpu,codec=cuda:1")).cpu, cpu + " codec=cuda");
  EXPECT_EQ(introduce(options("cuda:0,codec=cuda:1")).cpu, "cuda");
  EXPECT_EQ(introduce(options("cuda:0,codec=cpu")).cpu, "cuda codec=" + cpu);
}

TEST_F(Gpus, CopyToEachOther) {
  Tensor host({300}, DType::kF32);
  for (int i = 0; i < 300; ++i) host.f32()[i] = static_cast<float>(i);
  const Tensor first = copy_to(host, Device::gpu(0)), second = copy_to(first, Device::gpu(1));
  EXPECT_EQ(second.device(), Device::gpu(1));
  const Tensor back = copy_to(second, Device::kCpu);
  EXPECT_EQ(std::memcmp(back.f32(), host.f32(), host.bytes()), 0);
}

/// Memory that one GPU returns to the driver harms no recordings of another.
TEST_F(Gpus, RecordingsDependOnTheirOwnMemory) {
  ThreadPool pool(1);
  Workspace space(pool, Device::gpu(1));
  const auto step = [&] {
    space.context().stream->repeat([&] {
      space.reset();
      const std::vector<float> numbers(8, 1.f);
      store(space.context(), numbers, space.context().arena.take({8}, DType::kF32));
    });
    synchronize(space.context());
    return space.context().stream->played();
  };
  step(), step();
  EXPECT_EQ(step(), 1u);
  { const Tensor large({17 << 20}, DType::kU8, Device::gpu(0)); }
  EXPECT_EQ(step(), 2u);
  { const Tensor large({17 << 20}, DType::kU8, Device::gpu(1)); }
  EXPECT_EQ(step(), 2u);
}

}  // namespace
}  // namespace syrinx
