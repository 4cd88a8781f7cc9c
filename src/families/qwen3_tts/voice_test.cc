// Compares voices of recordings with the authors' package: vectors, codes, prompts, logits, frames
// and audio. Also tests how voices are checked.
#include "families/qwen3_tts/voice.h"

#include "base/worst.h"
#include "families/qwen3_tts/checkpoint_copy.h"
#include "families/qwen3_tts/fixture.h"
#include "kernels/fixture.h"
#include "model/run_streams.h"

namespace syrinx::qwen3_tts {
namespace {

Voice clone(const Qwen3Tts& model, Recording recording) {
  const VoiceEncoder* encoder = model.voice_encoder();
  const Result<std::string> mode = check_recording(encoder->info(), recording);
  EXPECT_TRUE(mode.ok());
  recording.mode = mode.value();
  const auto encoding = encoder->open(recording);
  fixture::Bench bench;
  while (!encoding->done()) {
    VoiceEncoding* batch[] = {encoding.get()};
    encoder->run(bench.ctx, batch);
    bench.arena.reset();
  }
  return encoding->take();
}

/// Clones the recording with the name `name`. `said` has its words.
Voice clone(const Qwen3Tts& model, const Safetensors& recordings, const std::string& name,
            const std::string& said) {
  const std::span<const float> samples = floats(recordings.view(name));
  return clone(model,
               {.samples = {samples.begin(), samples.end()}, .sample_rate = 24000, .text = said});
}

class VoiceTest : public testing::Test {
 protected:
  VoiceTest()
      : model_({golden_dir("base") + "/checkpoint", "base"}),
        recordings_(golden_dir("base") + "/recordings.safetensors") {}

  std::shared_ptr<Voice> voice(const std::string& name, const std::string& said) const {
    return std::make_shared<Voice>(clone(model_, recordings_, name, said));
  }
  SpeechRequest request(std::shared_ptr<const Voice> voice) const {
    SpeechRequest r;
    r.say.text = "Hello there, how are you?";
    r.voice.data = std::move(voice);
    r.sampling.temperature = 0.f;
    r.sampling.repetition_penalty = 1.f;
    return r;
  }
  /// Returns the talker's input rows.
  std::vector<float> rows(const SpeechRequest& r) {
    Runner runner(model_);
    Track track = runner.open(r);
    const ArSeq seq{track.state.get(), 0, track.state->prompt_rows(), true};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const auto found = floats(model_.talker().embed_rows(runner.context(), batch));
    return {found.begin(), found.end()};
  }

  Qwen3Tts model_;
  Safetensors recordings_;
};

TEST_F(VoiceTest, VectorsAndCodesOfRecordingsAreTheAuthors) {
  float worst = 0;
  for (const std::string name : {"speech", "sweep", "noise"}) {
    const Voice made = clone(model_, recordings_, name, "words");
    EXPECT_EQ(made.mode, kInContext);
    ASSERT_TRUE(made.find("speaker") && made.find("codes")) << name;
    const View want = recordings_.view(name + "_speaker");
    worst = worse(worst, relative(floats(*made.find("speaker")), floats(want)));
    EXPECT_EQ(ints(*made.find("codes")), ints(recordings_.view(name + "_codes"))) << name;
    const Voice plain = clone(model_, recordings_, name, "");
    EXPECT_EQ(plain.mode, kXVector);
    EXPECT_FALSE(plain.find("codes"));
    EXPECT_TRUE(fixture::same_bits(*plain.find("speaker"), *made.find("speaker")));
  }
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst_vector", std::to_string(worst * 1e6) + "e-6");
}

TEST_F(VoiceTest, RecordingsOfAnyLengthAreHeardAsTheAuthorsDecodeThem) {
  EXPECT_EQ(HearingCodecStage::heard_frames(0), 0u);
  EXPECT_EQ(HearingCodecStage::heard_frames(299), 299u);
  EXPECT_EQ(HearingCodecStage::heard_frames(300), 25u);
  EXPECT_EQ(HearingCodecStage::heard_frames(375), 100u);
  EXPECT_EQ(HearingCodecStage::heard_frames(600), 25u);
  const Safetensors golden(golden_dir("base") + "/heard.safetensors");
  const ChunkStage& stage = *model_.graph().links()[0].stage;
  const int books = stage.in_width();
  float worst = 0;
  for (const int frames : {38, 125, 313}) {
    const auto code = [](int frame, int book) {
      return (frame * (2 * book + 7) + frame * frame / 5 + book) % 64;
    };
    const View want = golden.view(concat("speech_", frames));
    const int spoken = static_cast<int>(want.count()) / stage.out_width();
    auto recorded = voice("speech", "hello there");
    Tensor codes({frames, books}, DType::kI32);
    std::vector<int32_t> speech;
    for (int t = 0; t < frames + spoken; ++t) {
      for (int k = 0; k < books; ++k) {
        if (t < frames) {
          codes.i32()[t * books + k] = code(t, k);
        } else {
          speech.push_back(code(t, k));
        }
      }
    }
    recorded->tensors.insert_or_assign("codes", std::move(codes));
    Runner runner(model_);
    const std::vector<float> got = through_chunk_stages(
        model_.graph(), *runner.open(request(recorded)).state, speech, runner.context());
    ASSERT_EQ(std::ssize(got), want.count());
    for (size_t i = 0; i < got.size(); ++i) {
      worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
    }
    EXPECT_LT(worst, 1e-4f) << frames;
  }
  RecordProperty("worst_heard", std::to_string(worst * 1e6) + "e-6");
}

TEST_F(VoiceTest, LateTextSaysTheSameHoweverItComes) {
  SpeechRequest whole = request(voice("speech", "hello there"));
  whole.say.in_prompt = false;
  SpeechRequest late = whole;
  late.say.text = "Hel";
  late.say.open = true;
  Runner runner(model_);
  Track a = runner.open(whole), b = runner.open(late);
  EXPECT_TRUE(a.state->ready());
  EXPECT_FALSE(b.state->ready()) << "rows of the recording wait for text";
  EXPECT_EQ(a.state->prompt_rows(), b.state->prompt_rows());
  std::vector<uint64_t> a_keys, b_keys;
  a.state->prefix_keys(false, a_keys);
  b.state->prefix_keys(false, b_keys);
  EXPECT_EQ(a_keys, b_keys) << "what is shared does not depend on the text";
  EXPECT_GT(a_keys.size(), 8u);
  EXPECT_TRUE(b.state->append_text(whole.say.text.substr(3), true).ok());
  ASSERT_TRUE(b.state->ready());
  for (int i = 0; i < 5; ++i) runner.step(a), runner.step(b);
  EXPECT_TRUE(a.logits == b.logits);
}

TEST_F(VoiceTest, PrefixKeysAreThoseOfTheVoice) {
  const auto keys = [&](std::shared_ptr<const Voice> v) {
    SpeechRequest r = request(std::move(v));
    r.say.in_prompt = true;
    std::vector<uint64_t> out;
    model_.open(r).value().sequence().prefix_keys(false, out);
    return out;
  };
  const auto one = voice("speech", "hello there"), other = voice("sweep", "hello there");
  const std::vector<uint64_t> a = keys(one), b = keys(other);
  EXPECT_EQ(a, keys(voice("speech", "hello there")));
  int differ = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) differ += a[i] != b[i];
  EXPECT_GT(differ, 10) << "the vector, and frames";
}

TEST_F(VoiceTest, VectorsOfUsersAndMixes) {
  const auto speech = voice("speech", ""), noise = voice("noise", "");
  const auto vector = floats(*speech->find("speaker"));
  auto given = model_.voice_of_embedding(vector);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(rows(request(std::make_shared<Voice>(given.take()))), rows(request(speech)));
  SpeechRequest mixed = request(nullptr);
  mixed.voice.mix = {{"", speech, 3}, {"", noise, 1}};
  const std::vector<float> a = rows(request(speech)), b = rows(request(noise)), m = rows(mixed);
  std::vector<float> want(a.size());
  for (size_t i = 0; i < a.size(); ++i) want[i] = 0.75f * a[i] + 0.25f * b[i];
  EXPECT_LT(relative(m, want), 1e-5f);
  EXPECT_NE(a, b);
  EXPECT_TRUE(model_.info().speech.mixes);
}

TEST_F(VoiceTest, ABaseCheckpointNeedsAVoice) {
  EXPECT_NE(refusal_of(model_, request(nullptr)).message.find("Base"), std::string::npos);
}

TEST(Qwen3TtsVoices, NamedSpeakersMixToo) {
  const Qwen3Tts model({golden_dir("equal_width") + "/checkpoint", "custom"});
  EXPECT_FALSE(model.voice_encoder());
  EXPECT_NE(model.info().speech.no_cloning.find("Base"), std::string::npos);
  SpeechRequest r;
  r.say.text = "Hello.";
  r.voice.mix = {{"Vivian", nullptr, 2}, {"ryan", nullptr, 2}};
  const auto opened = model.open(r);
  ASSERT_TRUE(opened.ok());
  const std::vector<float>& mixed = static_cast<const State&>(opened.value().sequence()).vector();
  const std::vector<float> a = row_of_table(
      model.talker().table(0), static_cast<int32_t>(model.config().speakers.at("vivian")));
  const std::vector<float> b = row_of_table(
      model.talker().table(0), static_cast<int32_t>(model.config().speakers.at("ryan")));
  for (size_t i = 0; i < mixed.size(); ++i) ASSERT_NEAR(mixed[i], (a[i] + b[i]) / 2, 1e-6);
  r.voice.mix[0].voice = "nobody";
  EXPECT_EQ(model.open(r).error().code, ErrorCode::kNotFound);
  r.voice.mix[0].voice = "none";
  EXPECT_EQ(model.open(r).error().param, "voice");
  r.voice.mix.clear();
  r.voice.data = std::make_shared<Voice>();
  EXPECT_EQ(model.open(r).error().param, "voice");
  EXPECT_EQ(model.voice_of_embedding(a).error().code, ErrorCode::kUnsupported);
}

TEST(Qwen3TtsVoices, WithoutTheCodecsEncoderThereAreVectors) {
  QwenCopy copy("base");
  copy.drop("speech_tokenizer/model.safetensors", "encoder.");
  const Qwen3Tts plain({copy.dir.path(), "copy"});
  ASSERT_TRUE(plain.voice_encoder());
  ASSERT_EQ(plain.voice_encoder()->info().modes.size(), 1u);
  EXPECT_EQ(plain.voice_encoder()->info().modes[0].name, kXVector);
}

TEST(Qwen3TtsVoices, DummyWeightsCloneToo) {
  const Qwen3Tts model({golden_dir("base") + "/checkpoint", "dummy", WeightType::kBF16, true});
  const Safetensors recordings(golden_dir("base") + "/recordings.safetensors");
  SpeechRequest r;
  r.say.text = "Hello.";
  r.voice.data = std::make_shared<Voice>(clone(model, recordings, "noise", "words"));
  EXPECT_EQ(r.voice.data->mode, kInContext);
  EXPECT_TRUE(model.open(r).ok());
}

}  // namespace
}  // namespace syrinx::qwen3_tts
