// Compares Pocket TTS with the authors' code on two small checkpoints with the same noise: chunks
// and ids, rows of a recording, the latent and the end of every step, samples.
#include "base/worst.h"
#include "families/checkpoint_copy.h"
#include "families/pocket_tts/fixture.h"

namespace syrinx::pocket_tts {
namespace {

class PocketParity : public testing::TestWithParam<const char*> {
 protected:
  PocketParity() : golden_(cases_of(GetParam())), model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return golden_path(std::string(GetParam()) + "/" + name);
  }
  Safetensors results(const nlohmann::json& c) const {
    return Safetensors(path(c["name"].get<std::string>() + ".safetensors"));
  }

  nlohmann::json golden_;
  PocketTts model_;
};

TEST_P(PocketParity, ChunksAndTheirIds) {
  for (const auto& c : golden_["cases"]) {
    const std::vector<std::string> chunks = model_.reader().chunks(c["text"]);
    std::vector<int32_t> ids;
    for (const std::string& chunk : chunks) {
      const TextReader::Ids read = model_.reader().read(chunk);
      ids.push_back(static_cast<int32_t>(read.ids.size()));
      ids.insert(ids.end(), read.ids.begin(), read.ids.end());
    }
    EXPECT_EQ(chunks.size(), c["chunks"].size()) << c["name"] << testing::PrintToString(chunks);
    EXPECT_EQ(ids, ints(results(c).view("ids"))) << c["name"];
  }
}

TEST_P(PocketParity, RowsOfARecording) {
  const auto voice = encode(*model_.voice_encoder(), speech());
  const Tensor* rows = voice->find("rows");
  ASSERT_NE(rows, nullptr);
  const Safetensors golden(path("voice.safetensors"));
  EXPECT_LT(relative(floats(*rows), floats(golden.view("rows"))), 2e-5f);
}

/// Speaks a case in as many steps as the authors' program.
Track spoken(const PocketTts& model, const nlohmann::json& c) {
  Runner runner(model);
  Track track = runner.open(request_of(c));
  const int frames = c["frames"];
  for (int i = 0; i < frames; ++i) {
    EXPECT_FALSE(track.finished) << c["name"] << " ended before step " << i;
    if (track.finished) break;
    runner.step(track);
  }
  EXPECT_TRUE(track.finished) << c["name"];
  return track;
}

TEST_P(PocketParity, LatentsAndEndsOfEveryStep) {
  float worst = 0, worst_end = 0;
  int ended = 0;
  for (const auto& c : golden_["cases"]) {
    const Track track = spoken(model_, c);
    ended += track.ended;
    const Safetensors golden = results(c);
    const View end = golden.view("end");
    ASSERT_EQ(std::ssize(track.rows), golden.view("latents").count()) << c["name"];
    worst = worse(worst, relative(track.rows, floats(golden.view("latents"))));
    std::vector<float> got;
    for (const std::vector<float>& logits : track.logits) {
      EXPECT_EQ(logits[0], model_.config().end_threshold);
      got.push_back(logits[1]);
    }
    worst_end = worse(worst_end, relative(got, floats(end)));
  }
  EXPECT_GE(ended, 3);
  EXPECT_LT(worst, 5e-5f);
  EXPECT_LT(worst_end, 1e-5f);
  RecordProperty("worst_latents", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_ends", std::to_string(worst_end * 1e6) + "e-6");
}

/// The head of this checkpoint makes latents from noise instead of adding to it. Tensors are equal.
TEST(PocketDrifting, LatentsOfEveryStep) {
  const CheckpointCopy copy(golden_path("small/checkpoint"));
  copy.replace("pocket_tts.yaml", "type: pointwise", "type: drifting");
  const PocketTts model({copy.dir.path(), "x"});
  const Track track = spoken(model, cases_of("small")["drifting"]);
  const Safetensors golden(golden_path("small/drifting.safetensors"));
  EXPECT_LT(relative(track.rows, floats(golden.view("latents"))), 5e-5f);
}

/// A voice's file contains the caches that the rows of the voice's recording would make.
TEST_P(PocketParity, AVoiceOfAFileIsThatOfItsRecording) {
  SpeechRequest file = request_of(golden_["cases"][0]), recording = file;
  recording.voice.name.clear();
  recording.voice.data = encode(*model_.voice_encoder(), speech());
  Runner runner(model_);
  Track a = runner.open(file), b = runner.open(recording);
  ASSERT_EQ(a.state->prompt_rows(), b.state->prompt_rows());
  for (int i = 0; i < 10; ++i) runner.step(a), runner.step(b);
  EXPECT_LT(relative(a.rows, b.rows), 1e-4f);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, PocketParity, testing::Values("distilled", "small"));

}  // namespace
}  // namespace syrinx::pocket_tts
