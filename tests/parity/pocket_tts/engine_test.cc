// The golden checkpoints through the whole engine: voices of files and of recordings. Tests that
// other families share are in ../golden/engine_test.cc.
#include "engine/testing/listening.h"
#include "families/pocket_tts/fixture.h"
#include "runtime/small_load.h"

namespace syrinx::pocket_tts {
namespace {

class PocketEngine : public testing::TestWithParam<const char*> {};

TEST_P(PocketEngine, ARecordingIsAVoice) {
  const std::string dir = golden_path(std::string(GetParam()) + "/checkpoint");
  const auto server = std::make_unique<Engine>(load_as<PocketTts>({dir, "tiny"}), unhurried({}));
  SpeechRequest file, recording, other;
  for (SpeechRequest* each : {&file, &recording, &other}) {
    each->say.text = "Hello there.";
    each->sampling.seed = 3;
    each->terms.max_frames = 6;
    each->terms.ignore_stop = true;
  }
  recording.voice.data = encode(*server->pipeline().voice_encoder(), speech());
  other.voice.name = "default";
  const std::vector<float> of_file = spoken(*server, file);
  EXPECT_LT(relative(spoken(*server, recording), of_file), 1e-3f)
      << "the file was made of this recording";
  EXPECT_GT(relative(spoken(*server, other), of_file), 0.1f);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, PocketEngine, testing::Values("distilled", "small"));

}  // namespace
}  // namespace syrinx::pocket_tts
