// Compares voices made from a recording with the authors' front end (tests/parity/s3_reference).
// Its spk2info file is a stored voice, whose speech must be equal.
#include "families/cosyvoice2/cloning.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "audio/wav_file.h"
#include "families/cosyvoice2/pipeline.h"
#include "families/s3/fixture.h"
#include "families/voice_of_frames.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr const char* kText = "The quick brown fox jumps over the lazy dog.";

/// Encodes the recording. `rate`: the sample rate that the recording states.
std::shared_ptr<const syrinx::Voice> encode(const VoiceEncoder& encoder, const std::string& text,
                                            const std::string& mode = "", int rate = 0) {
  const Wav wav = read_wav(parity("s3_reference/golden/recording.wav"));
  return syrinx::encode(encoder, {.samples = wav.samples,
                                  .sample_rate = rate ? rate : static_cast<int>(wav.rate),
                                  .text = text,
                                  .mode = mode});
}

struct CosyVoice2Cloning : public testing::Test {
  ClonedCheckpoint checkpoint{"cosyvoice2"};
  CosyVoice2 model{checkpoint.spec()};
  SpeechRequest ours, theirs;

  CosyVoice2Cloning() {
    ours.say.text = theirs.say.text = "Hello there, how are you?";
    ours.sampling.temperature = theirs.sampling.temperature = 0;
    theirs.voice.name = "cloned";
  }
};

TEST_F(CosyVoice2Cloning, ARecordingSpeaksAsTheAuthorsVoiceOfIt) {
  ASSERT_NE(model.voice_encoder(), nullptr);
  ours.voice.data = encode(*model.voice_encoder(), kText);
  EXPECT_EQ(ours.voice.data->mode, "zero-shot");
  const auto got = model.voice(ours).take(), want = model.voice(theirs).take();
  EXPECT_EQ(got->prompt_text, want->prompt_text);
  EXPECT_EQ(got->prompt_speech.size(), 165u);
  EXPECT_EQ(got->prompt_speech, want->prompt_speech);
  EXPECT_EQ(got->flow->tokens, want->flow->tokens);
  const float mel = relative(floats(got->flow->mel), floats(want->flow->mel));
  EXPECT_LT(mel, 1e-4f);
  RecordProperty("mel", std::to_string(mel * 1e6));
  EXPECT_LT(relative(floats(got->flow->speaker), floats(want->flow->speaker)), 1e-4f);
  expect_same_speech(model, ours, theirs);
  EXPECT_EQ(model.voice(ours).take(), got) << "prepared once";
}

TEST_F(CosyVoice2Cloning, AcrossLanguagesOnlyTheFlowHearsTheRecording) {
  ours.voice.data = encode(*model.voice_encoder(), "");
  EXPECT_EQ(ours.voice.data->mode, "cross-lingual");
  const auto got = model.voice(ours).take(), want = model.voice(theirs).take();
  EXPECT_TRUE(got->prompt_text.empty());
  EXPECT_TRUE(got->prompt_speech.empty());
  EXPECT_EQ(got->flow->tokens, want->flow->tokens);
  // Words of the recording do not change the result in this mode.
  ours.voice.data = encode(*model.voice_encoder(), kText, "cross-lingual");
  EXPECT_TRUE(model.voice(ours).take()->prompt_text.empty());
}

TEST_F(CosyVoice2Cloning, AVectorIsASpeaker) {
  const auto want = model.voice(theirs).take();
  const auto made = encode(*model.voice_encoder(), "");
  const Tensor& vector = *made->find("speaker_vector");
  auto voice = model.voice_of_embedding(floats(vector));
  ours.voice.data = std::make_shared<const syrinx::Voice>(voice.take());
  const auto got = model.voice(ours).take();
  EXPECT_TRUE(got->flow->tokens.empty());
  EXPECT_LT(relative(floats(got->flow->speaker), floats(want->flow->speaker)), 1e-4f);
  EXPECT_TRUE(model.open(ours).ok());
}

/// Expects the tokens of the authors' tokenizer. The expected mel was made as if the samples were
/// at 24 kHz; the golden file has every 64th frame.
TEST(CosyVoice3Cloning, ARecordingIsHeardAsByTheAuthors) {
  const TestDir dir;
  for (const auto& each :
       std::filesystem::directory_iterator(parity("cosyvoice3/golden/checkpoint")))
    std::filesystem::create_symlink(each.path(), dir.path(each.path().filename()));
  std::filesystem::create_symlink(parity("cosyvoice2/golden/checkpoint/campplus.onnx"),
                                  dir.path("campplus.onnx"));
  const CosyVoice2 model({dir.path(), "tiny"}, kThirdEdition);
  ASSERT_NE(model.voice_encoder(), nullptr);
  const Safetensors golden(parity("cosyvoice3/golden/reference.safetensors"));
  const auto heard = encode(*model.voice_encoder(), kText);
  EXPECT_EQ(heard->family, "cosyvoice3");
  EXPECT_EQ(ints(*heard->find("tokens")), ints(golden.view("tokens")));
  const auto fast = encode(*model.voice_encoder(), kText, "", 24000);
  const View mel = *fast->find("mel");
  std::vector<float> kept;
  for (int64_t row = 0; row < mel.shape[0]; row += 64)
    kept.insert(kept.end(), mel.f32() + row * 80, mel.f32() + (row + 1) * 80);
  const std::span<const float> want = floats(golden.view("mel"));
  ASSERT_LE(kept.size(), want.size());
  ASSERT_GE(kept.size(), 3u * 80);
  const float gap = relative(kept, want.first(kept.size()));
  EXPECT_LT(gap, 1e-4f);
  RecordProperty("mel", std::to_string(gap * 1e6));
  SpeechRequest request;
  request.say.text = "Hello there.";
  request.voice.data = heard;
  const auto voice = model.voice(request).take();
  EXPECT_TRUE(model.frontend().ends_prompt(voice->prompt_text));
  EXPECT_EQ(voice->prompt_speech.size(), 165u);
  EXPECT_TRUE(model.open(request).ok());
}

}  // namespace
}  // namespace syrinx::cosyvoice2
