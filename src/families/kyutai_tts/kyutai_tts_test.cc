// Compares Kyutai TTS with the moshi package on small random checkpoints: words, ids, logits,
// codes, steps of words, samples. Codes have the same bits for any pieces of text and in any batch.
#include "base/worst.h"
#include "families/checkpoint_copy.h"
#include "families/kyutai_tts/fixture.h"
#include "io/expect_fault.h"
#include "io/golden_samples.h"
#include "model/run_streams.h"

namespace syrinx::kyutai_tts {
namespace {

class KyutaiTtsParity : public testing::TestWithParam<const char*> {
 protected:
  KyutaiTtsParity() : cases_(cases_of(GetParam())), model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return golden_path(std::string(GetParam()) + "/" + name);
  }
  Safetensors golden(const nlohmann::json& c) const {
    return Safetensors(path(c["name"].get<std::string>() + ".safetensors"));
  }
  /// Speaks a case alone.
  Track spoken(const nlohmann::json& c) const {
    Runner runner(model_);
    Track track = runner.open(request_of(c));
    while (!track.finished) runner.step(track);
    return track;
  }

  nlohmann::json cases_;
  KyutaiTts model_;
};

TEST_P(KyutaiTtsParity, WordsOfTexts) {
  for (const auto& c : cases_) {
    const std::string text = c["text"];
    for (const size_t piece : {text.size(), size_t{1}}) {
      WordReader reader(model_.tokenizer());
      std::vector<Word> words;
      for (size_t at = 0; at < text.size(); at += piece)
        for (Word& word : reader.push(text.substr(at, piece), at + piece >= text.size()))
          words.push_back(std::move(word));
      ASSERT_EQ(words.size(), c["entries"].size());
      for (size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(words[i].ids, c["entries"][i].get<std::vector<int32_t>>()) << i;
        const int pads = TextMachine::kBetween + static_cast<int>(words[i].ids.size()) - 1;
        EXPECT_EQ(pads, c["paddings"][i].get<int>());
      }
    }
  }
}

TEST_P(KyutaiTtsParity, LogitsAndCodesOfEveryStep) {
  float worst_text = 0, worst_code = 0;
  int free = 0;
  for (const auto& c : cases_) {
    const Safetensors want = golden(c);
    const Track track = spoken(c);
    EXPECT_TRUE(track.ended) << c["name"];
    EXPECT_EQ(track.frames, ints(want.view("frames"))) << c["name"];
    const View text = want.view("text_logits"), code = want.view("code_logits");
    for (int64_t s = 0; s < text.shape[0]; ++s) {
      const Computed computed(track.logits[size_t(s)], floats(text.slice(s, s + 1)), 0);
      if (computed.got.empty()) continue;
      worst_text = worse(worst_text, relative(computed));
      ++free;
    }
    const auto first = static_cast<size_t>(model_.config().delay);
    for (int64_t s = 0; s < code.shape[0]; ++s) {
      worst_code =
          worse(worst_code, relative(track.inner[first + size_t(s)], floats(code.slice(s, s + 1))));
    }
  }
  EXPECT_GT(free, 10);
  EXPECT_LT(worst_text, 2e-5f);
  EXPECT_LT(worst_code, 2e-5f);
  RecordProperty("worst_text", std::to_string(worst_text * 1e6) + "e-6");
  RecordProperty("worst_codes", std::to_string(worst_code * 1e6) + "e-6");
}

/// A sequence needs no network to make words and ids of given codes.
TEST_P(KyutaiTtsParity, IdsOfStepsAndFramesOfWords) {
  for (const auto& c : cases_) {
    const Track track = spoken(c);
    const auto again = open_only(model_, request_of(c));
    const auto& state = static_cast<const State&>(*again);
    const size_t width = static_cast<size_t>(model_.config().codebooks()) + 1;
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    for (size_t s = 0; s < c["text_ids"].size(); ++s) {
      StepOutput out(frames, words);
      again->advance(std::span(track.codes).subspan(s * width, width), out);
      const TextIds ids = state.text();
      EXPECT_EQ((ids.second + 1) * (model_.config().text_in + 1) + ids.main,
                c["text_ids"][s].get<int64_t>())
          << c["name"] << " step " << s;
    }
    EXPECT_EQ(track.codes.size(), c["text_ids"].size() * width);
    ASSERT_EQ(words.size(), c["words"].size());
    const std::string text = c["text"];
    for (size_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(words[i].frame, c["words"][i][1].get<int64_t>()) << i;
      const std::string said =
          text.substr(size_t(words[i].begin), size_t(words[i].end - words[i].begin));
      if (said.find("\xe2\x80\x99") != said.npos || said.find(')') != said.npos) continue;
      EXPECT_EQ(said, c["words"][i][0].get<std::string>());
    }
  }
}

TEST_P(KyutaiTtsParity, SamplesOfCodes) {
  Runner runner(model_);
  int compared = 0;
  for (const auto& c : cases_) {
    const Safetensors want = golden(c);
    if (!want.find("samples")) continue;
    const ChunkStage& stage = *model_.graph().links()[0].stage;
    const GoldenSamples samples(want);
    const int frames = static_cast<int>(samples.count()) / stage.out_width();
    const auto state = open_only(model_, request_of(c));
    const std::vector<int32_t> codes = ints(want.view("frames"));
    const auto some = std::span(codes).first(size_t(frames * stage.in_width()));
    EXPECT_LT(
        samples.distance(through_chunk_stages(model_.graph(), *state, some, runner.context())),
        2e-5f);
    ++compared;
  }
  EXPECT_EQ(compared, 1);
}

TEST_P(KyutaiTtsParity, CodesHaveTheSameBitsInAnyBatchAndIfRowsRunAgain) {
  const Track alone = spoken(cases_[0]);
  Runner runner(model_, 2);
  std::vector<Track> tracks;
  for (int i = 0; i < 4; ++i) tracks.push_back(runner.open(request_of(cases_[size_t(i % 2)])));
  for (int i = 0; i < 5; ++i) runner.step(tracks[1]);  // begins earlier
  Track* all[] = {&tracks[0], &tracks[1], &tracks[2], &tracks[3]};
  for (int i = 0; i < 2000 && !(tracks[0].finished && tracks[2].finished); ++i) {
    if (i == 30) runner.drop(tracks[2]);
    runner.step(all, 7);
  }
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(tracks[i].frames, alone.frames) << i;
    EXPECT_EQ(tracks[i].inner, alone.inner) << i;
  }
}

TEST_P(KyutaiTtsParity, LateTextGivesTheSameCodes) {
  for (const auto& c : cases_) {
    const Track whole = spoken(c);
    Runner runner(model_);
    SpeechRequest request = request_of(c);
    const std::string text = request.say.text;
    request.say.text.clear(), request.say.open = true;
    Track track = runner.open(request);
    EXPECT_EQ(track.state->known_rows(), track.state->prompt_rows() - 1);
    size_t at = 0, before = 0;
    while (!track.finished) {
      runner.step(track);
      if (track.state->ready()) continue;
      ASSERT_LT(at, text.size());
      EXPECT_TRUE(track.state->append_text(text.substr(at, 1), at + 1 == text.size()).ok());
      if (at + 1 < text.size()) before = track.frames.size();
      ++at;
    }
    EXPECT_EQ(track.frames, whole.frames);
    EXPECT_EQ(before > 0, c["words"].size() > 6) << "audio before the end of the text";
    EXPECT_FALSE(track.state->append_text("more", true).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, KyutaiTtsParity, testing::Values("small", "other"));

class KyutaiTtsTest : public testing::Test {
 protected:
  KyutaiTtsTest() : model_({golden_path("small/checkpoint"), "x"}) {}
  SpeechRequest request(const std::string& text) const {
    SpeechRequest request;
    request.say.text = text;
    return request;
  }
  KyutaiTts model_;
};

TEST_F(KyutaiTtsTest, RefusesWhatTheModelLacks) {
  EXPECT_EQ(refusal_of(model_, request(" :() \n")).param, "input");
  SpeechRequest other = request("a cafe");
  other.voice.name = "clara.wav";
  EXPECT_EQ(refusal_of(model_, other).param, "voice");
  other = request("a cafe");
  other.sampling.guidance = 2.2f;
  EXPECT_NE(refusal_of(model_, other).message.find("1.0, 1.5"), std::string::npos);
  other.sampling.guidance = 9.f;
  EXPECT_EQ(refusal_of(model_, other).param, "guidance");
  other = request("a cafe");
  other.sampling.repetition_penalty = 1.2f;
  EXPECT_EQ(refusal_of(model_, other).param, "repetition_penalty");
}

TEST_F(KyutaiTtsTest, VoicesAreNamedAfterTheirRecordings) {
  EXPECT_EQ(model_.info().speech.default_voice, "anna.wav");
  ASSERT_EQ(model_.info().speech.voices.size(), 2u);
  EXPECT_EQ(model_.info().speech.voices[1].id, "ben.wav");
}

/// A download has the voices in another repository of the hub's cache.
TEST(KyutaiTtsVoices, AreFoundInTheHubsCache) {
  const CheckpointCopy copy(golden_path("small/checkpoint"));
  const TestDir cache;
  const std::string folder = cache.path("models--kyutai--tts-voices/snapshots/aaa/expresso");
  ::setenv("HF_HUB_CACHE", cache.path().c_str(), 1);
  std::filesystem::create_directories(folder);
  std::filesystem::rename(copy.dir.path("voices"), copy.dir.path("moved"));
  const auto load = [&] { return KyutaiTts({copy.dir.path(), "x"}).info().speech.default_voice; };
  expect_fault(load_fault_of(load), "syrinx hub pull kyutai-tts-voices");
  for (const char* file : {"ben.wav.1e68beda@240.safetensors", "else.safetensors"})
    std::filesystem::copy(copy.dir.path("moved/some/ben.wav.1e68beda@240.safetensors"),
                          folder + "/" + file);
  EXPECT_EQ(load(), "ben.wav");
  copy.dir.write("voices/of_another_model.safetensors", "");
  EXPECT_EQ(load(), "ben.wav");
  LoadSpec dummy{copy.dir.path(), "x"};
  dummy.dummy = true;
  EXPECT_EQ(KyutaiTts(dummy).info().speech.default_voice, "default");
  ::unsetenv("HF_HUB_CACHE");
}

/// A text without a voice, with a scale, and of the default ones.
TEST_F(KyutaiTtsTest, VoiceAndGuidanceChangeTheSpeech) {
  Runner runner(model_);
  std::vector<std::vector<int32_t>> all;
  for (const auto& [voice, scale] : {std::pair{"anna.wav", 2.f}, std::pair{"", 2.f},
                                     std::pair{"anna.wav", 4.f}, std::pair{"ben.wav", 2.f}}) {
    SpeechRequest other = request("a bad bed");
    other.voice.name = voice, other.sampling.guidance = scale;
    other.sampling.temperature = 0.f;
    Track track = runner.open(other);
    while (!track.finished) runner.step(track);
    all.push_back(track.frames);
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_NE(all[0], all[2]);
  EXPECT_NE(all[0], all[3]);
}

TEST_F(KyutaiTtsTest, FramesHaveALimit) {
  Runner runner(model_);
  SpeechRequest some = request("a cafe");
  some.terms.max_frames = 90, some.terms.ignore_stop = true;
  Track track = runner.open(some);
  while (!track.finished) runner.step(track);
  EXPECT_FALSE(track.ended);
  EXPECT_EQ(track.frames.size(), 90u * 8);
}

TEST(TextMachine, WaitsForTheWordsThatAStepReads) {
  TextMachine machine(2);
  const auto word = [](int32_t id) { return Word{{id, id + 1}, 0, 0}; };
  EXPECT_TRUE(machine.ready()) << "the first frames have no word";
  for (int i = 0; i < TextMachine::kFirstPads; ++i) EXPECT_FALSE(machine.take(true).has_value());
  EXPECT_FALSE(machine.ready());
  machine.push(word(10)), machine.push(word(20));
  EXPECT_FALSE(machine.ready());
  machine.push(word(30));
  ASSERT_TRUE(machine.ready());
  EXPECT_EQ(machine.next(), TextMachine::Next::kWord);
  EXPECT_EQ(machine.peek(false).main, 10);
  EXPECT_EQ(machine.peek(false).second, kNewWord);
  EXPECT_TRUE(machine.take(false).has_value());
  EXPECT_EQ(machine.next(), TextMachine::Next::kFrame);
  EXPECT_TRUE(machine.ready());
  EXPECT_EQ(machine.peek(true).main, 11);
  EXPECT_EQ(machine.peek(true).second, 30) << "the word after the next one";
  machine.take(true), machine.take(true);
  EXPECT_EQ(machine.next(), TextMachine::Next::kFree);
  EXPECT_FALSE(machine.ready());
  machine.close();
  EXPECT_TRUE(machine.ready());
}

}  // namespace
}  // namespace syrinx::kyutai_tts
