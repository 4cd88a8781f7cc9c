// Compares voices of recordings with the authors' package: vectors, codes, prompts, logits, frames
// and audio. Also tests how voices are checked.
#include "families/qwen3_tts/voice.h"

#include "base/worst.h"
#include "families/qwen3_tts/checkpoint_copy.h"
#include "families/qwen3_tts/fixture.h"
#include "io/edit_safetensors.h"
#include "io/golden_samples.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

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
  std::string refusal(const SpeechRequest& r) const {
    const auto opened = model_.open(r);
    EXPECT_FALSE(opened.ok());
    if (opened.ok()) return "";
    EXPECT_EQ(opened.error().param, "voice");
    return opened.error().message;
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

TEST_F(VoiceTest, RecordingsAtOtherRatesBecomeTheAuthorsVoices) {
  const Safetensors golden(golden_dir("base") + "/rates.safetensors");
  for (const int rate : {8000, 16000, 44100, 48000}) {
    Recording recording{.sample_rate = rate, .text = "words"};
    for (const char* part : {"sweep", "speech"}) {
      const auto samples = floats(recordings_.view(part));
      recording.samples.insert(recording.samples.end(), samples.begin(), samples.end());
    }
    const Voice made = clone(model_, recording);
    EXPECT_LT(
        relative(floats(*made.find("speaker")), floats(golden.view(concat(rate, "_speaker")))),
        1e-4f)
        << rate;
    EXPECT_EQ(ints(*made.find("codes")), ints(golden.view(concat(rate, "_codes")))) << rate;
  }
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
    const auto stream = open_stream(stage, *runner.open(request(recorded)).state);
    std::vector<float> got(static_cast<size_t>(want.count()));
    ChunkJob job;
    job.state = stream.get();
    job.fresh = spoken;
    job.codes = speech;
    job.out = got;
    stage.run(runner.context(), std::span(&job, 1));
    for (size_t i = 0; i < got.size(); ++i) {
      worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
    }
    EXPECT_LT(worst, 1e-4f) << frames;
  }
  RecordProperty("worst_heard", std::to_string(worst * 1e6) + "e-6");
}

TEST_F(VoiceTest, PromptsLogitsFramesAndAudioAreTheAuthors) {
  float worst_rows = 0, worst = 0, worst_inner = 0, worst_samples = 0;
  const std::string dir = golden_dir("base");
  int audible = 0;
  for (const auto& json : nlohmann::json::parse(read_file(dir + "/cases.json", 1 << 20))) {
    const std::string name = json["name"], said = json["said"];
    const Safetensors golden(dir + "/" + name + ".safetensors");
    SpeechRequest r = request(voice(json["recording"], said));
    r.say.text = json["text"];
    r.say.language = json["language"];
    r.say.in_prompt = json["text_mode"] == "whole";
    r.terms.max_frames = 1000;
    worst_rows = worse(worst_rows, relative(rows(r), floats(golden.view("prefill"))));

    Runner runner(model_);
    Track track = runner.open(r);
    const int steps = json["steps"];
    for (int step = 0; step <= steps && !track.finished; ++step) runner.step(track);
    EXPECT_EQ(track.finished, json["ended"]) << name;
    expect_same_text(model_, track, golden, r, name);
    const size_t codebooks = model_.config().codebooks;
    ASSERT_GE(track.frames.size(), steps * codebooks) << name;
    track.frames.resize(steps * codebooks);
    EXPECT_EQ(track.frames, ints(golden.view("frames"))) << name;
    const View logits = golden.view("logits_codes_end"), inner = golden.view("inner_logits");
    for (int64_t step = 0; step <= steps; ++step) {
      std::vector<float> row = track.logits[step];
      const float end = row[model_.config().codec.eos];
      row.resize(model_.config().audio_codes());
      row.push_back(end);
      worst = worse(worst, relative(row, floats(logits.slice(step, step + 1))));
      if (step < inner.shape[0] && step < steps) {
        worst_inner =
            worse(worst_inner, relative(track.inner[step], floats(inner.slice(step, step + 1))));
      }
    }
    if (!golden.find("samples")) continue;
    ++audible;
    const GoldenSamples want(golden);
    const ChunkStage& stage = *model_.graph().links()[0].stage;
    const int count = static_cast<int>(want.count()) / stage.out_width();
    const auto decode = [&] {
      std::vector<float> got(static_cast<size_t>(want.count()));
      const auto stream = open_stream(stage, *runner.open(r).state);
      for (int at = 0; at < count; at += 3) {  // the chunks decode the recording only once
        ChunkJob job;
        job.state = stream.get();
        job.fresh = std::min(3, count - at);
        job.codes = std::span(track.frames).subspan(at * codebooks, job.fresh * codebooks);
        job.out = std::span(got).subspan(static_cast<size_t>(at) * stage.out_width(),
                                         static_cast<size_t>(job.fresh) * stage.out_width());
        stage.run(runner.context(), std::span(&job, 1));
      }
      return got;
    };
    const std::vector<float> got = decode();
    EXPECT_EQ(got, decode()) << "the codec remembers what it has heard";
    worst_samples = worse(worst_samples, want.distance(got));
  }
  EXPECT_EQ(audible, 2);
  EXPECT_LT(worst_rows, 1e-4f);
  EXPECT_LT(worst, 1e-4f);
  EXPECT_LT(worst_inner, 1e-4f);
  EXPECT_LT(worst_samples, 1e-4f);
  RecordProperty("worst_rows", std::to_string(worst_rows * 1e6) + "e-6");
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_inner_logits", std::to_string(worst_inner * 1e6) + "e-6");
  RecordProperty("worst_samples", std::to_string(worst_samples * 1e6) + "e-6");
}

TEST_F(VoiceTest, ARecordingIsTheSameBitsBesideOthers) {
  const Voice alone = clone(model_, recordings_, "sweep", "words");
  const VoiceEncoder* encoder = model_.voice_encoder();
  std::vector<std::unique_ptr<VoiceEncoding>> all;
  for (const std::string name : {"speech", "sweep", "noise"}) {
    const auto samples = floats(recordings_.view(name));
    all.push_back(encoder->open({.samples = {samples.begin(), samples.end()},
                                 .sample_rate = name == "noise" ? 44100 : 24000,
                                 .text = "words",
                                 .mode = kInContext}));
  }
  fixture::Bench bench;
  int turns = 0;
  for (std::vector<VoiceEncoding*> batch;; ++turns) {
    batch.clear();
    for (const auto& each : all) {
      if (!each->done()) batch.push_back(each.get());
    }
    if (batch.empty()) break;
    encoder->run(bench.ctx, batch);
    bench.arena.reset();
  }
  EXPECT_GT(turns, 10);
  EXPECT_EQ(voice_hash(all[1]->take()), voice_hash(alone));
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
  EXPECT_EQ(given.value().encoder, "given");
  EXPECT_EQ(rows(request(std::make_shared<Voice>(given.take()))), rows(request(speech)));
  EXPECT_EQ(model_.voice_of_embedding(vector.first(7)).error().param, "speaker_embedding");
  std::vector<float> odd(vector.begin(), vector.end());
  odd[3] = NAN;
  EXPECT_FALSE(model_.voice_of_embedding(odd).ok());

  SpeechRequest mixed = request(nullptr);
  mixed.voice.mix = {{"", speech, 3}, {"", noise, 1}};
  const std::vector<float> a = rows(request(speech)), b = rows(request(noise)), m = rows(mixed);
  std::vector<float> want(a.size());
  for (size_t i = 0; i < a.size(); ++i) want[i] = 0.75f * a[i] + 0.25f * b[i];
  EXPECT_LT(relative(m, want), 1e-5f);
  EXPECT_NE(a, b);
  EXPECT_TRUE(model_.info().speech.mixes);
}

TEST_F(VoiceTest, RefusesWhatIsNoVoiceOfThisModel) {
  EXPECT_NE(refusal(request(nullptr)).find("Base"), std::string::npos);
  const auto changed = [&](auto change) {
    const auto v = voice("speech", "hello there");
    change(*v);
    return refusal(request(v));
  };
  EXPECT_NE(changed([](Voice& v) { v.tensors.erase("speaker"); }).find("speaker"),
            std::string::npos);
  EXPECT_NE(changed([](Voice& v) { v.tensors.erase("codes"); }).find("codes"), std::string::npos);
  EXPECT_NE(changed([](Voice& v) {
              v.tensors["codes"] = Tensor({0, 6}, DType::kI32);
            }).find("codes"),
            std::string::npos);
  EXPECT_NE(changed([](Voice& v) { v.tensors["codes"].i32()[8] = 64; }).find("64"),
            std::string::npos);
  EXPECT_NE(changed([](Voice& v) { v.tensors["speaker"].f32()[0] = INFINITY; }).find("finite"),
            std::string::npos);
  EXPECT_NE(changed([](Voice& v) { v.text = " "; }).find("words"), std::string::npos);
  EXPECT_NE(changed([](Voice& v) { v.mode = "sung"; }).find("sung"), std::string::npos);
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

TEST(Qwen3TtsVoices, LoadsWithWhatThereIs) {
  QwenCopy copy("base");
  copy.drop("speech_tokenizer/model.safetensors", "encoder.");
  const Qwen3Tts plain({copy.dir.path(), "copy"});
  ASSERT_TRUE(plain.voice_encoder());
  ASSERT_EQ(plain.voice_encoder()->info().modes.size(), 1u);
  EXPECT_EQ(plain.voice_encoder()->info().modes[0].name, kXVector);
  copy.drop("model.safetensors", "speaker_encoder.");
  const Qwen3Tts mute({copy.dir.path(), "copy"});
  EXPECT_FALSE(mute.voice_encoder());
  EXPECT_NE(mute.info().speech.no_cloning.find("speaker_encoder"), std::string::npos);

  QwenCopy damaged("base");
  damaged.replace("model.safetensors", "\"speaker_encoder.mfa.conv.weight",
                  "\"speaker_encoder.mfx.conv.weight");
  const Qwen3Tts model({damaged.dir.path(), "copy"});
  const Recording recording{
      .samples = std::vector<float>(24000), .sample_rate = 24000, .mode = kXVector};
  for (int i = 0; i < 2; ++i) EXPECT_THROW(model.voice_encoder()->open(recording), LoadError);
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
