// The constants of a model's nodes before any batch has run.
#include <gtest/gtest.h>

#include "engine/testing/scripted_asks.h"

namespace syrinx {
namespace {

/// A stage that makes up to five frames of one input frame, and two on average.
class BlockStage : public ChunkStage {
 public:
  FrameType in() const override { return {Flow::kCodes, 1}; }
  FrameType out() const override { return {Flow::kRows, 3}; }
  int most_out() const override { return 5; }
  std::unique_ptr<StreamState> open(Bundle) const override {
    return std::make_unique<StreamState>();
  }
  void run(StepContext&, std::span<ChunkJob>) const override {}
};

class BlockVoice : public BlockStage {
 public:
  FrameType in() const override { return {Flow::kRows, 3}; }
  FrameType out() const override { return {Flow::kSamples, 40}; }
  int most_out() const override { return 1; }
};

class BlocksPipeline : public Pipeline {
 public:
  BlocksPipeline() : toy_(make_toy_pipeline()) {
    info_ = toy_->info();
    info_.speech.sample_rate = 1000;
    info_.speech.frame_rate = 12.5;  // 80 samples for each step: two frames of 40
    const Link links[] = {{"blocks", &blocks_, {1, 1}}, {"voice", &voice_, {1, 1}}};
    graph_ = chain(toy_->graph().ar(), links);
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override { return toy_->open(request); }

 private:
  const std::shared_ptr<const Pipeline> toy_;
  PipelineInfo info_;
  BlockStage blocks_;
  BlockVoice voice_;
  Graph graph_;
};

TEST(PrefillRows, ByTheDeviceUnlessAsked) {
  EngineOptions options;
  EXPECT_EQ(prefill_rows_for(Device::kCpu, options), 128);
  EXPECT_EQ(prefill_rows_for(Device::gpu(1), options), 256);
  options.max_prefill_rows = 9;
  EXPECT_EQ(prefill_rows_for(Device::kCpu, options), 9);
  EXPECT_EQ(prefill_rows_for(Device::gpu(1), options), 9);
}

TEST(WaitingFrames, LastAsLongAsTheModelSays) {
  ScriptedMachine machine({.options = patient()});
  const ResidentModel& blocks = machine.add(std::make_shared<BlocksPipeline>());
  EXPECT_DOUBLE_EQ(blocks.nodes[1].samples_per_frame, 80);
  EXPECT_DOUBLE_EQ(blocks.nodes[2].samples_per_frame, 40);
  const ResidentModel& toy = machine.add(make_toy_pipeline());
  EXPECT_DOUBLE_EQ(toy.nodes[1].samples_per_frame, 20);
}

}  // namespace
}  // namespace syrinx
