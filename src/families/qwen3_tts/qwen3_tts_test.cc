// Tests of what only this family does and needs no golden: late text, rules, bounds, checks.
// speaking_models_test.cc and spoken_families_test.cc test promises of all families.
#include "families/family_fixture.h"
#include "families/qwen3_tts/checkpoint_copy.h"
#include "families/qwen3_tts/fixture.h"

namespace syrinx::qwen3_tts {
namespace {

class Qwen3TtsTest : public FamilyTest<Qwen3Tts> {
 protected:
  Qwen3TtsTest() : FamilyTest(golden_dir("projected") + "/checkpoint") {}

  static SpeechRequest request(const std::string& text) {
    SpeechRequest r = FamilyTest::request(text);
    r.voice.name = "Vivian";
    r.say.language = "en";
    return r;
  }
};

TEST_F(Qwen3TtsTest, LateTextSpeaksAsTextKnownAtOnce) {
  const std::string text = "Hello there, how are you? The fox isn't 12 years old; 你好，世界!";
  SpeechRequest whole = request(text);
  whole.say.in_prompt = false;
  Runner runner(model_);
  Track known = runner.open(whole);
  for (int i = 0; i < 60; ++i) runner.step(known);

  SpeechRequest late = request("");
  late.say.open = true;
  Track track = runner.open(late);
  EXPECT_FALSE(track.state->ready());
  size_t at = 0;
  for (int guard = 0; guard < 500 && track.logits.size() < 60; ++guard) {
    if (track.state->ready()) {
      runner.step(track);
    } else {
      ASSERT_LT(at, text.size());
      const size_t n = std::min<size_t>(1 + guard % 4, text.size() - at);
      ASSERT_TRUE(
          track.state->append_text(std::string_view(text).substr(at, n), at + n == text.size())
              .ok());
      at += n;
    }
  }
  EXPECT_EQ(at, text.size());
  EXPECT_TRUE(track.logits == known.logits);
  EXPECT_EQ(track.frames, known.frames);
  EXPECT_FALSE(track.state->append_text("more", true).ok());
}

TEST_F(Qwen3TtsTest, LateTextWaits) {
  SpeechRequest late = request("Hello the");
  late.say.open = true;
  Runner runner(model_);
  Track track = runner.open(late);
  ASSERT_TRUE(track.state->ready());  // the word "Hello" is complete
  for (int i = 0; i < 50; ++i) runner.step(track);
  EXPECT_FALSE(track.state->ready());
  const size_t before = track.logits.size();
  EXPECT_LT(before, 10u);
  ASSERT_TRUE(track.state->append_text("", true).ok());
  EXPECT_TRUE(track.state->ready());
  for (int i = 0; i < 50; ++i) runner.step(track);
  EXPECT_EQ(track.logits.size(), before + 50);
}

/// Late text joins the last segment. The bound of this segment then follows from its whole text.
TEST_F(Qwen3TtsTest, LateTextBehindALongOneGoesToItsLastSegment) {
  const std::string sentence = "The quick brown fox jumps over the lazy dog. ";
  SpeechRequest r = request("");
  while (r.say.text.size() < 8000) r.say.text += sentence;
  r.say.open = true;
  r.terms.ignore_stop = false;
  r.terms.max_frames = 0;
  auto opened = model_.open(r);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Sequence& state = opened.value().sequence();
  ASSERT_TRUE(state.append_text("The end.", true).ok());
  std::vector<int32_t> codes(model_.config().codebooks, 1), frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  for (int segment = 0; segment < 2; ++segment) {
    codes[0] = model_.config().codec.eos;
    ASSERT_EQ(state.advance(codes, out).next, Verdict::kNextSegment);
  }
  SpeechRequest last = request(r.say.text.substr(2 * (4000 / sentence.size()) * sentence.size()));
  last.say.text += "The end.";
  last.say.in_prompt = false;
  last.terms.max_frames = 0;
  auto alone = model_.open(last);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(state.max_steps(), alone.value().sequence().max_steps());
  EXPECT_EQ(state.advance(codes, out).next, Verdict::kFinished);
}

/// Each row beside the audio has one text id. The end of the text comes next, then padding.
TEST_F(Qwen3TtsTest, TextBesideTheAudioEndsAndIsPadded) {
  const ModelConfig& c = model_.config();
  SpeechRequest r = request("Hello there, how are you?");
  r.say.in_prompt = false;
  std::vector<int32_t> want = model_.frontend().text_ids(r.say.text);
  want.push_back(c.text.tts_eos);
  want.resize(want.size() + 5, c.text.tts_pad);
  auto opened = model_.open(r);
  ASSERT_TRUE(opened.ok());
  auto& state = static_cast<State&>(opened.value().sequence());
  std::vector<int32_t> codes(c.codebooks, 1), got, frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  const int begin = state.prompt_rows() - 1;
  for (int row = begin; std::ssize(got) < std::ssize(want); ++row) {
    if (row > begin) state.advance(codes, out);
    std::vector<int32_t> slots(c.codebooks + 1);
    row_of(state, row, false, slots);
    got.push_back(slots.back());
  }
  EXPECT_EQ(got, want);

  // The recording has more frames than the text has ids.
  VoicePrompt voice;
  voice.text = "a";
  voice.frames.assign(static_cast<size_t>(40 * c.codebooks), 1);
  auto heard = State::open(c, model_.frontend(), 1000, voice, r);
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_TRUE(heard.value()->ready());
  std::vector<int32_t> slots(c.codebooks + 1);
  row_of(*heard.value(), heard.value()->prompt_rows() - 1, false, slots);
  EXPECT_EQ(slots.back(), c.text.tts_pad);
}

TEST_F(Qwen3TtsTest, TwoStepsMustFitBehindThePrompt) {
  SpeechRequest r = request("Hello there.");
  const auto rows = State::open(model_.config(), model_.frontend(), 1000, {}, r);
  ASSERT_TRUE(rows.ok());
  const int most = rows.value()->prompt_rows() + 2;
  EXPECT_TRUE(State::open(model_.config(), model_.frontend(), most, {}, r).ok());
  const auto refused = State::open(model_.config(), model_.frontend(), most - 1, {}, r);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().param, "input");
}

TEST_F(Qwen3TtsTest, NothingEndsBeforeItsTextHasCome) {
  SpeechRequest r = request("Hello the");
  r.say.open = true;
  r.terms.ignore_stop = false;
  auto opened = model_.open(r);
  ASSERT_TRUE(opened.ok());
  Sequence& state = opened.value().sequence();
  std::vector<int32_t> codes(model_.config().codebooks, 2), frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  for (int step = 0; step < 3; ++step) state.advance(codes, out);
  EXPECT_EQ(state.rule(0).ranges, 1);
  ASSERT_TRUE(state.append_text("re.", true).ok());
  EXPECT_EQ(state.rule(0).ranges, 2);
}

TEST_F(Qwen3TtsTest, Rules) {
  SpeechRequest r = request("Hello there.");
  r.terms.ignore_stop = false;
  r.terms.max_frames = 0;
  auto opened = model_.open(r);
  ASSERT_TRUE(opened.ok());
  Sequence& state = opened.value().sequence();
  const ModelConfig& c = model_.config();
  std::vector<int32_t> codes(c.codebooks, 2), frames;
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  for (int step = 0; step < 3; ++step) {
    const SampleRule rule = state.rule(0);
    EXPECT_EQ(rule.ranges, step < 2 ? 1 : 2) << "the end is barred for two steps";
    EXPECT_EQ(rule.allowed[0].end, c.audio_codes());
    state.advance(codes, out);
  }
  EXPECT_EQ(state.rule(1).ranges, 0);
  EXPECT_EQ(state.history(0).size(), 3u);
  EXPECT_TRUE(state.history(1).empty());
}

TEST_F(Qwen3TtsTest, LateTextIsNotInThePrompt) {
  SpeechRequest r = request("Hello.");
  r.say.open = true;
  r.say.in_prompt = true;
  EXPECT_EQ(refusal(r).code, ErrorCode::kUnsupported);
}

TEST_F(Qwen3TtsTest, SpeaksWithoutAVoiceAndOnlySomeEditionsTakeInstructions) {
  EXPECT_TRUE(model_.info().offers.has("instructions"));
  const Qwen3Tts other({golden_dir("equal_width") + "/checkpoint", "x"});
  EXPECT_FALSE(other.info().offers.has("instructions"));
  EXPECT_EQ(model_.info().speech.voices.back().id, "none");
}

}  // namespace
}  // namespace syrinx::qwen3_tts
