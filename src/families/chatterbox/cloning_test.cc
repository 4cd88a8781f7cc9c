// Compares voices made from a recording with the authors' prepare_conditionals
// (tests/parity/s3_reference). Its conds file is a stored voice, whose speech must be equal.
#include "families/chatterbox/cloning.h"

#include <gtest/gtest.h>

#include "audio/wav_file.h"
#include "families/chatterbox/pipeline.h"
#include "families/s3/fixture.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::chatterbox {
namespace {

Recording recording() {
  const Wav wav = read_wav(parity("s3_reference/golden/recording.wav"));
  return {.samples = wav.samples, .sample_rate = static_cast<int>(wav.rate)};
}

/// Encodes the recordings together.
std::vector<std::shared_ptr<const syrinx::Voice>> encode(const VoiceEncoder& encoder,
                                                         const std::vector<Recording>& all) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  std::vector<std::unique_ptr<VoiceEncoding>> encodings;
  for (const Recording& each : all) encodings.push_back(encoder.open(each));
  while (true) {
    std::vector<VoiceEncoding*> batch;
    for (const auto& each : encodings)
      if (!each->done()) batch.push_back(each.get());
    if (batch.empty()) break;
    encoder.run(ctx, batch);
    arena.reset();
  }
  std::vector<std::shared_ptr<const syrinx::Voice>> voices;
  for (const auto& each : encodings)
    voices.push_back(std::make_shared<const syrinx::Voice>(each->take()));
  return voices;
}

struct ChatterboxCloning : public testing::Test {
  ClonedCheckpoint checkpoint{"chatterbox"};
  Chatterbox model{checkpoint.spec()};
};

TEST_F(ChatterboxCloning, ARecordingSpeaksAsTheAuthorsVoiceOfIt) {
  ASSERT_NE(model.voice_encoder(), nullptr);
  const auto data = encode(*model.voice_encoder(), {recording()})[0];
  EXPECT_EQ(data->family, "chatterbox");
  EXPECT_EQ(data->mode, "clone");
  EXPECT_NEAR(data->seconds, 6.6, 1e-6);
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

// Encodes the same samples as recordings at other rates: 13.2 s at 8 kHz (longer than the input of
// either network), 4.4 s at 24 kHz, 2.4 s at 44.1 kHz, 2.2 s at 48 kHz.
TEST_F(ChatterboxCloning, RecordingsAtOtherRatesBecomeTheAuthorsVoices) {
  const Safetensors golden(parity("chatterbox/golden/rates.safetensors"));
  for (const int rate : {8000, 24000, 44100, 48000}) {
    Recording at = recording();
    at.sample_rate = rate;
    const auto voice = encode(*model.voice_encoder(), {at})[0];
    const auto want = [&](const char* name) { return golden.view(concat(rate, ".", name)); };
    EXPECT_EQ(ints(*voice->find("prompt_speech")), ints(want("prompt_speech"))) << rate;
    EXPECT_EQ(ints(*voice->find("tokens")), ints(want("tokens"))) << rate;
    EXPECT_LT(relative(floats(*voice->find("speaker")), floats(want("speaker"))), 1e-4f) << rate;
    EXPECT_LT(relative(floats(*voice->find("speaker_vector")), floats(want("vector"))), 1e-4f)
        << rate;
    EXPECT_LT(relative(every_16th(*voice->find("mel")), floats(want("mel"))), 1e-4f) << rate;
  }
}

TEST_F(ChatterboxCloning, CompanyChangesNothing) {
  Recording other = recording();
  other.samples.erase(other.samples.begin(), other.samples.begin() + 60'000);
  other.sample_rate = 44'100;
  const auto together = encode(*model.voice_encoder(), {other, recording()});
  const auto alone = encode(*model.voice_encoder(), {recording()});
  EXPECT_EQ(voice_hash(*together[1]), voice_hash(*alone[0]));
  EXPECT_NE(voice_hash(*together[0]), voice_hash(*alone[0]));
}

TEST_F(ChatterboxCloning, OfALongRecordingTheBeginning) {
  Recording longer = recording();
  const std::vector<float> once = longer.samples;
  for (int i = 0; i < 2; ++i) longer.samples.insert(longer.samples.end(), once.begin(), once.end());
  const auto voice = encode(*model.voice_encoder(), {longer})[0];
  EXPECT_EQ(voice->find("prompt_speech")->shape(), Shape({150}));
  EXPECT_EQ(voice->find("tokens")->shape(), Shape({250}));
  EXPECT_EQ(voice->find("mel")->shape(), Shape({500, 80}));
}

TEST_F(ChatterboxCloning, VoicesThatDoNotFitAreRefused) {
  SpeechRequest request;
  request.say.text = "Hello.";
  const auto data = encode(*model.voice_encoder(), {recording()})[0];
  const auto refused = [&](const std::string& name, Tensor tensor) {
    syrinx::Voice voice = {.family = data->family, .encoder = data->encoder, .mode = data->mode};
    for (const auto& [key, value] : data->tensors) voice.tensors[key] = value.clone();
    voice.tensors.erase(name);
    if (!tensor.empty()) voice.tensors[name] = std::move(tensor);
    request.voice.data = std::make_shared<const syrinx::Voice>(std::move(voice));
    const auto opened = model.open(request);
    return opened.ok() ? "accepted" : opened.error().message;
  };
  const auto holds = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  for (const char* name : {"speaker", "emotion", "prompt_speech", "mel", "speaker_vector"})
    holds(refused(name, {}), concat("\"", name, "\" is missing"));
  const std::vector<int32_t> wrong_ids{3, 99'999};
  holds(refused("tokens", tensor_of(wrong_ids)), "99999");
  holds(refused("prompt_speech", tensor_of(wrong_ids)), "99999");
  holds(refused("prompt_speech", Tensor({9'999}, DType::kI32)), "at most");
  holds(refused("speaker", Tensor({3}, DType::kF32)), "expected 256");
  const std::vector<float> nan{std::nanf("")};
  holds(refused("emotion", tensor_of(nan)), "not finite");
}

TEST(ChatterboxNoCloning, SaysWhatIsMissing) {
  const ClonedCheckpoint checkpoint("chatterbox", "ve.safetensors");
  const Chatterbox model(checkpoint.spec());
  EXPECT_EQ(model.voice_encoder(), nullptr);
  EXPECT_EQ(model.info().speech.no_cloning, "ve.safetensors is missing");
  EXPECT_EQ(model.voices().size(), 2u);
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
