// Compares speaker vectors of recordings with the authors' network. Also tests voices as data and
// mixes of voices.
#include "families/zonos/voice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/worst.h"
#include "families/checkpoint_copy.h"
#include "families/zonos/fixture.h"
#include "families/zonos/pipeline.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "model/step_runner.h"

namespace syrinx::zonos {
namespace {

class ZonosVoice : public testing::Test {
 protected:
  ZonosVoice() : model_({golden("checkpoint"), "tiny"}, letters) {}

  std::shared_ptr<Voice> given(float scale, int kind) const {
    std::vector<float> vector(128);
    for (int i = 0; i < 128; ++i) vector[i] = scale * std::sin(static_cast<float>(i * kind));
    return std::make_shared<Voice>(model_.voice_of_embedding(vector).take());
  }
  SpeechRequest request() const {
    SpeechRequest r;
    r.say.text = "hello";
    return r;
  }
  std::vector<std::vector<float>> rows(const SpeechRequest& r) const {
    const auto opened = model_.open(r);
    EXPECT_TRUE(opened.ok());
    std::vector<std::vector<float>> out;
    if (!opened.ok()) return out;
    const Sequence& sequence = opened.value().sequence();
    std::vector<int32_t> codes(model_.config().codebooks + 1);
    for (int i = 0; i + 1 < sequence.prompt_rows(); ++i) {
      const GivenRow vector = row_of(sequence, i, false, codes);
      out.emplace_back(vector.begin(), vector.end());
    }
    return out;
  }
  Error refusal(const SpeechRequest& r) const { return refusal_of(model_, r); }

  Zonos model_;
};

TEST_F(ZonosVoice, VectorsOfRecordingsAreTheAuthors) {
  const Safetensors signals(golden("speaker_vectors.safetensors"));
  const VoiceEncoder* encoder = model_.voice_encoder();
  ASSERT_TRUE(encoder);
  std::vector<std::unique_ptr<VoiceEncoding>> all;
  const std::vector<std::string> names = {"speech", "sweep", "noise", "speech"};
  for (const std::string& name : names) {
    const auto samples = floats(signals.view(name));
    all.push_back(encoder->open({.samples = {samples.begin(), samples.end()},
                                 .sample_rate = 16000,
                                 .mode = encoder->info().modes[0].name}));
  }
  fixture::Bench bench;
  // The first three recordings are encoded together, then the fourth alone.
  int pieces = 0;
  for (const size_t count : {size_t{3}, size_t{4}}) {
    for (std::vector<VoiceEncoding*> batch;; ++pieces) {
      batch.clear();
      for (const auto& each : std::span(all).first(count)) {
        if (!each->done()) batch.push_back(each.get());
      }
      if (batch.empty()) break;
      encoder->run(bench.ctx, batch);
      bench.arena.reset();
    }
  }
  EXPECT_GT(pieces, 40);
  float worst = 0;
  std::vector<Voice> voices;
  for (const auto& each : all) voices.push_back(each->take());
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor* vector = voices[i].find("speaker");
    ASSERT_TRUE(vector);
    const float off = relative(floats(*vector), floats(signals.view(names[i] + "_vector")));
    worst = worse(worst, off);
  }
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst_vector", std::to_string(worst * 1e6) + "e-6");
  EXPECT_EQ(voice_hash(voices[0]), voice_hash(voices[3])) << "other recordings change no bit";
}

TEST_F(ZonosVoice, AVectorIsWhatAFileOfItIs) {
  const Weights file(open_weights(golden("checkpoint/speakers/bob.safetensors")));
  const Tensor bob = file.f32("speaker", {128});
  auto voice = model_.voice_of_embedding(floats(bob));
  ASSERT_TRUE(voice.ok());
  SpeechRequest named = request(), given = request();
  named.voice.name = "bob";
  given.voice.data = std::make_shared<Voice>(voice.take());
  given.voice.name = "any name";
  EXPECT_EQ(rows(named), rows(given));
  EXPECT_NE(rows(request()), rows(given));
}

TEST_F(ZonosVoice, AMixHasTheAverageOfItsVectors) {
  const Weights file(open_weights(golden("checkpoint/speakers/bob.safetensors")));
  const Tensor bob = file.f32("speaker", {128});
  const auto a = given(1, 3);
  std::vector<float> average(128);
  for (int i = 0; i < 128; ++i) {
    average[i] = 0.25f * a->find("speaker")->f32()[i] + 0.75f * bob.f32()[i];
  }
  SpeechRequest mixed = request(), whole = request();
  mixed.voice.mix = {{"", a, 1}, {"bob", nullptr, 3}};
  whole.voice.data = std::make_shared<Voice>(model_.voice_of_embedding(average).take());
  const auto m = rows(mixed), w = rows(whole);
  ASSERT_EQ(m.size(), w.size());
  for (size_t i = 0; i < m.size(); ++i) {
    ASSERT_EQ(m[i].size(), w[i].size());
    for (size_t k = 0; k < m[i].size(); ++k) ASSERT_NEAR(m[i][k], w[i][k], 1e-5) << i;
  }
  mixed.voice.mix[1].voice = "nobody";
  EXPECT_EQ(refusal(mixed).code, ErrorCode::kNotFound);
  EXPECT_TRUE(model_.info().speech.mixes);
}

TEST_F(ZonosVoice, AMissingFileIsNamedWithEachRecording) {
  const CheckpointCopy copy(golden("checkpoint"));
  std::filesystem::remove(
      copy.dir.path("Zonos-v0.1-speaker-embedding/ResNet293_SimAM_ASP_base_LDA-128.pt"));
  const Zonos half({copy.dir.path(), "half"}, letters);
  const Recording recording{
      .samples = std::vector<float>(16000), .sample_rate = 16000, .mode = "x-vector"};
  for (int i = 0; i < 2; ++i) EXPECT_THROW(half.voice_encoder()->open(recording), LoadError);
}

}  // namespace
}  // namespace syrinx::zonos
