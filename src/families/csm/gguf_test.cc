// Compares GGUF files of llama.cpp's converters with the checkpoint of their weights.
#include "families/csm/gguf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "families/checkpoint_copy.h"
#include "families/csm/pipeline.h"
#include "families/voice_of_frames.h"
#include "kernels/fixture.h"
#include "model/run_streams.h"

namespace syrinx::csm {
namespace {

const std::string kGolden = SYRINX_BINARY_DIR "/parity/csm/golden/gguf/";
const std::string kBackbone = kGolden + "sesame-csm-backbone.gguf";
const std::string kDepth = kGolden + "sesame-csm-decoder.gguf";
const std::string kCodec = kGolden + "kyutai-mimi.gguf";

std::vector<float> speak(const Csm& model, Track& track) {
  SpeechRequest request;
  request.say.text = "hello there, it isn't 1234!";
  request.voice.name = "1";
  request.say.context = {{"0", "how are you?", std::vector<int32_t>(64, 5)}};
  request.sampling.temperature = 0.f;
  request.terms.ignore_stop = true;
  Runner runner(model);
  track = runner.open(request);
  for (int i = 0; i < 6; ++i) runner.step(track);
  return through_chunk_stages(model.graph(), *track.state, track.frames, runner.context());
}

TEST(CsmGguf, SpeaksWithTheSameBits) {
  const Csm published({kGolden + "checkpoint", "small"}), file({kBackbone, "small"});
  EXPECT_EQ(file.config().audio_token, published.config().audio_token);
  EXPECT_EQ(file.config().audio_end_token, published.config().audio_end_token);
  EXPECT_EQ(file.turn(1, "Hello, 1234!"), published.turn(1, "Hello, 1234!"));
  Track want, got;
  const std::vector<float> samples = speak(published, want);
  EXPECT_EQ(speak(file, got), samples);
  EXPECT_EQ(got.logits, want.logits);
  EXPECT_EQ(got.frames, want.frames);
  EXPECT_EQ(want.frames.size(), 6u * static_cast<size_t>(published.config().codebooks));
}

TEST(CsmGguf, MakesVoicesOfTheSameCodes) {
  const Csm published({kGolden + "checkpoint", "small"}), file({kBackbone, "small"});
  const auto codes = [](const Csm& model) {
    Recording recording{
        .samples = std::vector<float>(36000), .sample_rate = 24000, .text = "words"};
    for (size_t i = 0; i < recording.samples.size(); ++i)
      recording.samples[i] = 0.4f * static_cast<float>(std::sin(0.05 * static_cast<double>(i)));
    recording.mode = check_recording(model.voice_encoder()->info(), recording).value();
    const auto encoding = model.voice_encoder()->open(recording);
    fixture::Bench bench(1);
    while (!encoding->done()) {
      VoiceEncoding* batch[] = {encoding.get()};
      model.voice_encoder()->run(bench.ctx, batch);
      bench.arena.reset();
    }
    const Voice voice = encoding->take();
    return ints(*voice.find("codes"));
  };
  EXPECT_EQ(codes(file), codes(published));
}

TEST(CsmGguf, FindsTheOtherFilesInTheFolder) {
  EXPECT_TRUE(claims_file(GgufFile(kBackbone)));
  EXPECT_FALSE(is_part_file(GgufFile(kBackbone)));
  for (const std::string& part : {kDepth, kCodec}) {
    EXPECT_FALSE(claims_file(GgufFile(part))) << part;
    EXPECT_TRUE(is_part_file(GgufFile(part))) << part;
  }
  const TestDir dir;
  const auto copy = [&](const std::string& from, const std::string& name) {
    std::filesystem::copy(from, dir.path(name));
  };
  const auto fault = [&] {
    return load_fault_of([&] { const Csm model({dir.path("a-backbone-q8_0.gguf"), "copy"}); });
  };
  const auto expect_fault = [&](const std::string& text) {
    EXPECT_NE(fault().find(text), std::string::npos) << fault();
  };
  copy(kBackbone, "a-backbone-q8_0.gguf");
  expect_fault("expected the file of the depth decoder beside it, such as sesame-csm-decoder.gguf");
  copy(kCodec, "a-decoder-q8_0.gguf");
  expect_fault("expected the file of the codec beside it, such as kyutai-mimi.gguf");
  copy(kCodec, "mimi.gguf");
  expect_fault("expected llama-csm");
  std::filesystem::remove(dir.path("a-decoder-q8_0.gguf"));
  copy(kDepth, "another-decoder.gguf");
  EXPECT_EQ(fault(), "");
}

}  // namespace
}  // namespace syrinx::csm
