// Compares voices made from a recording with the authors' prepare_conditionals
// (tests/parity/s3_reference). Its conds file is a stored voice, whose speech must be equal.
#include "families/chatterbox/cloning.h"

#include <gtest/gtest.h>

#include "audio/wav_file.h"
#include "families/chatterbox/pipeline.h"
#include "families/s3/fixture.h"
#include "families/voice_of_frames.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::chatterbox {
namespace {

Recording recording() {
  const Wav wav = read_wav(parity("s3_reference/golden/recording.wav"));
  return {.samples = wav.samples, .sample_rate = static_cast<int>(wav.rate)};
}

struct ChatterboxCloning : public testing::Test {
  ClonedCheckpoint checkpoint{"chatterbox"};
  Chatterbox model{checkpoint.spec()};
};

TEST_F(ChatterboxCloning, ARecordingSpeaksAsTheAuthorsVoiceOfIt) {
  ASSERT_NE(model.voice_encoder(), nullptr);
  const auto data = syrinx::encode(*model.voice_encoder(), recording());
  SpeechRequest ours, theirs;
  ours.say.text = theirs.say.text = "Hello there, how are you?";
  ours.sampling.guidance = theirs.sampling.guidance = 1;
  ours.sampling.temperature = theirs.sampling.temperature = 0;
  ours.voice.data = data;
  theirs.voice.name = "cloned";
  const auto got = model.voice(ours).take(), want = model.voice(theirs).take();
  EXPECT_EQ(got->prompt_speech.size(), 150u);
  EXPECT_EQ(got->prompt_speech, want->prompt_speech);
  EXPECT_LT(relative(got->speaker, want->speaker), 1e-4f);
  EXPECT_EQ(got->emotion, want->emotion);
  const float rows = relative(floats(got->rows), floats(want->rows));
  EXPECT_LT(rows, 1e-4f);
  RecordProperty("rows", std::to_string(rows * 1e6));
  EXPECT_EQ(got->flow->tokens.size(), 165u);
  EXPECT_EQ(got->flow->tokens, want->flow->tokens);
  const float mel = relative(floats(got->flow->mel), floats(want->flow->mel));
  EXPECT_LT(mel, 2e-4f) << "logarithms of bands in which there is next to nothing";
  RecordProperty("mel", std::to_string(mel * 1e6));
  EXPECT_LT(relative(floats(got->flow->speaker), floats(want->flow->speaker)), 1e-4f);
  expect_same_speech(model, ours, theirs);
  EXPECT_EQ(model.voice(ours).take(), got) << "prepared once";
}

TEST_F(ChatterboxCloning, OtherVoicesLeaveTheCheckpointsOwnTheDefault) {
  ASSERT_EQ(model.voices().begin()->first, "cloned");
  EXPECT_EQ(model.info().speech.default_voice, "default");
  EXPECT_EQ(model.voice({}).take().get(), &model.voices().at("default"));
}

TEST_F(ChatterboxCloning, OfALongRecordingTheBeginning) {
  Recording longer = recording();
  const std::vector<float> once = longer.samples;
  for (int i = 0; i < 2; ++i) longer.samples.insert(longer.samples.end(), once.begin(), once.end());
  const auto voice = syrinx::encode(*model.voice_encoder(), longer);
  EXPECT_EQ(voice->find("prompt_speech")->shape(), Shape({150}));
  EXPECT_EQ(voice->find("tokens")->shape(), Shape({250}));
  EXPECT_EQ(voice->find("mel")->shape(), Shape({500, 80}));
}

TEST(ChatterboxSpeaker, AgreesWithTheOriginal) {
  const Weights weights(open_weights(parity("chatterbox/golden/checkpoint/ve.safetensors")));
  const SpeakerEncoder encoder(weights);
  EXPECT_NO_THROW(weights.finish());
  const Safetensors golden(parity("s3_reference/golden/golden.safetensors"));
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  for (const std::string name : {"sweep", "murmur", "speech"}) {
    auto work = encoder.open(floats(golden.view(name + ".wav")));
    while (!work.done()) encoder.run(ctx, work), arena.reset();
    EXPECT_LT(relative(work.vector(), floats(golden.view(name + ".speaker"))), 1e-4f) << name;
  }
}

TEST(ChatterboxSpeaker, SilenceAtTheEndsIsLeftOut) {
  std::vector<float> samples(16'000, 0.f);
  std::fill(samples.begin() + 6'000, samples.begin() + 9'000, 0.5f);
  const auto sound = without_silent_ends(samples);
  // Frames have 2048 samples, and their centres are multiples of 512.
  EXPECT_EQ(sound.data() - samples.data(), 10 * 512);
  EXPECT_EQ(sound.size(), (19 - 10 + 1) * 512u);
  EXPECT_EQ(without_silent_ends(std::vector<float>(5'000, 0.f)).size(), 5'000u);
}

}  // namespace
}  // namespace syrinx::chatterbox
