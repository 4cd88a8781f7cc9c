// The golden checkpoint through the whole engine: speech that ends by itself, and a text in parts.
// Tests that other families share are in ../golden/engine_test.cc.
#include "engine/testing/listening.h"
#include "families/voxcpm2/pipeline.h"
#include "runtime/small_load.h"

namespace syrinx::voxcpm2 {
namespace {

std::unique_ptr<Engine> engine() {
  const std::string checkpoint = SYRINX_BINARY_DIR "/parity/voxcpm2/golden/checkpoint";
  return std::make_unique<Engine>(load_as<VoxCpm2>({checkpoint, "tiny"}), unhurried({}));
}

TEST(VoxCpm2Engine, EndsByItself) {
  SpeechRequest request;
  request.say.text = "how are you?";
  request.sampling.seed = (uint64_t{5} << 32) + 3;
  request.sampling.guidance = 3.5f;
  const auto server = engine();
  const auto sink = ask(*server, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop);
  EXPECT_EQ(std::ssize(sink->samples()), 21 * 4 * 60) << "as many steps as the original took";
}

/// A text that is too long for the model's positions is spoken in consecutive parts.
TEST(VoxCpm2Engine, ALongTextIsSpokenToItsEnd) {
  SpeechRequest request;
  for (int i = 0; i < 120; ++i)
    request.say.text += "The fox number " + std::to_string(i) + " ran. ";
  request.sampling.seed = 5;
  const auto server = engine();
  const auto sink = ask(*server, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop) << sink->wait().error.message;
  const std::vector<float> alone = sink->samples();
  const size_t part = 4 * 4 * 60;  // at least this many samples
  EXPECT_GE(alone.size(), 8 * part);
  std::vector<std::shared_ptr<Reader>> sinks;
  for (int i = 0; i < 4; ++i) {
    SpeechRequest other = request;
    if (i % 2 == 1) other.sampling.seed = i, other.say.text.resize(600);
    sinks.push_back(ask(*server, other));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sinks[i]->wait().reason, FinishReason::kStop) << sinks[i]->wait().error.message;
    EXPECT_TRUE(i % 2 == 1 || sinks[i]->samples() == alone) << i;
  }
}

}  // namespace
}  // namespace syrinx::voxcpm2
