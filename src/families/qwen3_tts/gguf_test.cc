// Compares GGUF files of qwentts.cpp's converter with their source checkpoints.
#include "families/qwen3_tts/gguf.h"

#include "base/error.h"
#include "families/qwen3_tts/fixture.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"
#include "model/run_streams.h"

namespace syrinx::qwen3_tts {
namespace {

std::string gguf_talker(const std::string& name) {
  return golden_dir("gguf") + "/" + name + "/talker.gguf";
}

SpeechRequest gguf_request(const std::string& text) {
  SpeechRequest request;
  request.say.text = text;
  request.voice.name = "none";
  request.sampling.temperature = 0.f;
  request.terms.ignore_stop = true;
  return request;
}

/// Takes 6 steps, and returns the samples of the frames.
std::vector<float> speak(const Qwen3Tts& model, const SpeechRequest& request, Track& track) {
  Runner runner(model);
  track = runner.open(request);
  for (int i = 0; i < 6; ++i) runner.step(track);
  return through_chunk_stages(model.graph(), *track.state, track.frames, runner.context());
}

TEST(QwenGguf, SpeaksWithTheSameBits) {
  const Qwen3Tts published({golden_dir("projected") + "/checkpoint", "small"});
  const Qwen3Tts file({gguf_talker("projected"), "small"});
  EXPECT_EQ(file.config().speakers, published.config().speakers);
  EXPECT_EQ(file.config().dialects, published.config().dialects);
  EXPECT_EQ(file.config().languages, published.config().languages);
  EXPECT_EQ(file.config().defaults.max_frames, published.config().defaults.max_frames);
  EXPECT_EQ(file.config().defaults.inner.top_k, published.config().defaults.inner.top_k);
  EXPECT_EQ(file.info().speech.default_voice, published.info().speech.default_voice);
  SpeechRequest request = gguf_request("Hello there, it isn't 1234!");
  request.voice.name = published.config().speakers.begin()->first;
  Track want, got;
  const std::vector<float> samples = speak(published, request, want);
  EXPECT_EQ(speak(file, request, got), samples);
  EXPECT_EQ(got.logits, want.logits);
  EXPECT_EQ(got.frames, want.frames);
  EXPECT_EQ(want.frames.size(), 6u * static_cast<size_t>(published.config().codebooks));
}

TEST(QwenGguf, ClonesWithTheSameBits) {
  const Qwen3Tts published({golden_dir("base") + "/checkpoint", "base"});
  const Qwen3Tts file({gguf_talker("base"), "base"});
  const Safetensors recordings(golden_dir("base") + "/recordings.safetensors");
  const std::span<const float> samples = floats(recordings.view("speech"));
  const auto voice = [&](const Qwen3Tts& model) {
    Recording recording{
        .samples = {samples.begin(), samples.end()}, .sample_rate = 24000, .text = "words"};
    recording.mode = check_recording(model.voice_encoder()->info(), recording).value();
    const auto encoding = model.voice_encoder()->open(recording);
    fixture::Bench bench;
    while (!encoding->done()) {
      VoiceEncoding* batch[] = {encoding.get()};
      model.voice_encoder()->run(bench.ctx, batch);
      bench.arena.reset();
    }
    return std::make_shared<Voice>(encoding->take());
  };
  SpeechRequest request = gguf_request("Hello.");
  request.voice.name.clear();
  request.voice.data = voice(published);
  const auto stored = voice(file);
  for (const char* part : {"speaker", "codes"}) {
    ASSERT_TRUE(stored->find(part)) << part;
    EXPECT_TRUE(fixture::same_bits(*stored->find(part), *request.voice.data->find(part))) << part;
  }
  Track want, got;
  const std::vector<float> spoken = speak(published, request, want);
  EXPECT_EQ(speak(file, request, got), spoken);
  EXPECT_EQ(got.logits, want.logits);
}

TEST(QwenGguf, TheFileOfTheCodecBelongsToItsTalker) {
  const std::string talker = gguf_talker("projected");
  const std::string codec = codec_beside(talker);
  EXPECT_TRUE(codec.ends_with("/tokenizer.gguf")) << codec;
  EXPECT_TRUE(claims_file(GgufFile(talker)));
  EXPECT_FALSE(claims_file(GgufFile(codec)));
  EXPECT_TRUE(is_codec_file(GgufFile(codec)));
  const TestDir dir;
  std::filesystem::copy(talker, dir.path("talker.gguf"));
  const auto fault = [&] {
    try {
      const Qwen3Tts model({dir.path("talker.gguf"), "copy"});
      return std::string();
    } catch (const LoadError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_TRUE(fault().find("expected the file of the codec beside it") != std::string::npos) << fault();
  std::filesystem::copy(talker, dir.path("tokenizer.gguf"));
  EXPECT_TRUE(fault().find("expected qwen3-tts-tokenizer") != std::string::npos) << fault();
}

}  // namespace
}  // namespace syrinx::qwen3_tts
