// A golden checkpoint through the whole engine: a text that is longer than the model's positions.
// Tests that other families share are in ../golden/engine_test.cc.
#include "engine/testing/listening.h"
#include "families/vibevoice/fixture.h"
#include "runtime/small_load.h"

namespace syrinx::vibevoice {
namespace {

/// The model has 900 positions.
TEST(VibeVoiceParts, LongTextIsSpokenToItsEnd) {
  std::string text;
  for (int i = 0; i < 15; ++i) text += "The fox said hello there to the dog. ";
  SpeechRequest request;
  request.say.text = text;
  request.terms.ignore_stop = true;
  Engine engine(load_as<VibeVoice>({golden_path("other/checkpoint"), "tiny"}), unhurried({}));
  const auto sink = ask(engine, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kLength);
  EXPECT_GT(std::ssize(sink->samples()), 900 * 120);
}

}  // namespace
}  // namespace syrinx::vibevoice
