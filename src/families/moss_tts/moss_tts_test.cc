// Tests promises that only MOSS-TTS-Realtime makes: all rows of a conversation, text that arrives
// beside the frames, keys that the next turn finds, rules, voices, refusals. golden_models.h has
// the goldens of frames, logits and samples.

#include "families/family_fixture.h"
#include "families/moss_tts/fixture.h"
#include "families/moss_tts/pipeline.h"
#include "families/moss_tts/state.h"
#include "families/voice_of_frames.h"

namespace syrinx::moss_tts {
namespace {

class MossTtsTest : public FamilyTest<MossTts> {
 protected:
  MossTtsTest() : FamilyTest(kDir) {}

  int books() const { return static_cast<int>(model_.config().codebooks); }
  static SpeechRequest request(const std::string& text) {
    SpeechRequest r = FamilyTest::request(text, 40);
    r.terms.ignore_stop = false;
    return r;
  }

  static inline const std::string kDir = golden_dir("other_shapes") + "/checkpoint";
};

class MossTtsRows : public testing::TestWithParam<const char*> {};

/// Compares each id of each row: of the prompt with voice and context, and of the steps.
TEST_P(MossTtsRows, AreTheAuthors) {
  const MossTts model({golden_dir(GetParam()) + "/checkpoint", "tiny"});
  for (const Case& c : load_cases(GetParam())) {
    const auto state = open_only(model, c.request);
    const View prompt = c.golden.view("prompt"), fed = c.golden.view("fed");
    const std::vector<int32_t> spoken = ints(c.golden.view("frames"));
    const int64_t width = prompt.shape[1], rows = prompt.shape[0];
    ASSERT_EQ(state->prompt_rows(), rows) << c.name;
    std::vector<int32_t> words;
    std::vector<WordMark> marks;
    StepOutput out(words, marks);
    const std::span<const int32_t> frames(spoken);
    for (int64_t i = 0; i < rows + fed.shape[0]; ++i) {
      const int64_t step = i - rows;
      const size_t codes = static_cast<size_t>(width - 1);
      if (step >= 0) state->advance(frames.subspan(static_cast<size_t>(step) * codes, codes), out);
      std::vector<int32_t> ids(static_cast<size_t>(width));
      row_of(*state, static_cast<int>(i), false, ids);
      ASSERT_EQ(ids, ints(step < 0 ? prompt.slice(i, i + 1) : fed.slice(step, step + 1)))
          << c.name << " row " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, MossTtsRows,
                         testing::Values("published_rates", "other_shapes"));

TEST_F(MossTtsTest, TheFirstFrameWaitsForTwelveIdsAndEachLaterOneForItsOwn) {
  SpeechRequest r = request("");
  r.say.open = true;
  const auto state = open_only(model_, r);
  const int head = state->prompt_rows();
  EXPECT_FALSE(state->ready());
  EXPECT_EQ(state->known_rows(), head) << "rows before the text may run";
  ASSERT_TRUE(state->append_text("a b c d e f", false).ok());  // a space and a letter form two ids
  EXPECT_FALSE(state->ready()) << "the last word may go on";
  ASSERT_TRUE(state->append_text(" g h", false).ok());
  ASSERT_TRUE(state->ready());
  EXPECT_EQ(state->prompt_rows(), head + 12);
  EXPECT_EQ(state->known_rows(), head + 12);
  EXPECT_EQ(row(*state, head + 11)[1], model_.config().begin_code());
  EXPECT_EQ(row(*state, head + 10)[1], model_.config().pad_code);
  int steps = 0;
  for (; state->ready() && steps < 100; ++steps) {
    EXPECT_EQ(state->rule(0).ranges, 1) << "no end before the text's";
    say(*state, frames(1, steps));
  }
  EXPECT_GE(steps, 2);
  EXPECT_LE(steps, 4) << "ids of g, and a frame before each";
  ASSERT_TRUE(state->append_text(".", true).ok());
  EXPECT_TRUE(state->ready());
  EXPECT_EQ(state->rule(0).ranges, 2);
  say(*state, frames(30));
  EXPECT_TRUE(state->ready());
  EXPECT_EQ(row(*state, state->prompt_rows() + steps + 29)[0], model_.config().text_pad);
  EXPECT_FALSE(state->append_text("more", true).ok());
}

TEST_F(MossTtsTest, AShortTextBeginsWhenItIsComplete) {
  SpeechRequest r = request("fox");
  r.say.open = true;
  const auto late = open_only(model_, r);
  EXPECT_FALSE(late->ready());
  ASSERT_TRUE(late->append_text("", true).ok());
  EXPECT_TRUE(late->ready());
  const auto whole = open_only(model_, request("fox"));
  ASSERT_EQ(late->prompt_rows(), whole->prompt_rows());
  for (int pos = 0; pos < whole->prompt_rows(); ++pos) {
    EXPECT_EQ(row(*late, pos), row(*whole, pos)) << pos;
  }
}

/// The next turn of a conversation continues the rows of this turn, so the cache is kept.
TEST_F(MossTtsTest, TheNextTurnHasTheKeysOfTheRowsThatWereFed) {
  const std::string text = "the quick brown fox jumps over the lazy dog, how are you?";
  for (const bool open : {false, true}) {
    SpeechRequest r = request(open ? "" : text);
    r.say.open = open;
    r.say.context = {{"user", "hello there", frames(5, 3)}};
    const auto state = open_only(model_, r);
    std::vector<uint64_t> keys;
    state->prefix_keys(false, keys);
    if (open) {
      EXPECT_EQ(std::ssize(keys), state->prompt_rows()) << "of the rows before the text";
      ASSERT_TRUE(state->append_text(text, true).ok());
    }
    std::vector<int32_t> codes = frames(20, 7);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int32_t>(i % 60);
    say(*state, codes);
    state->step_keys(false, keys);
    ASSERT_EQ(std::ssize(keys), state->prompt_rows() + 20);

    SpeechRequest next = request("and other things");
    next.say.context = r.say.context;
    next.say.context.push_back({"0", text, codes});
    next.say.context.push_back({"1", "numbers", {}});
    std::vector<uint64_t> later;
    open_only(model_, next)->prefix_keys(false, later);
    ASSERT_GT(later.size(), keys.size());
    later.resize(keys.size());
    EXPECT_EQ(later, keys) << open;
  }
}

TEST_F(MossTtsTest, RulesAndBounds) {
  SpeechRequest r = request("Hello there.");
  const auto state = open_only(model_, r);
  EXPECT_EQ(state->max_steps(), 40);
  const int32_t codes = model_.config().pad_code, end = model_.config().end_code();
  for (int k = 0; k < books(); ++k) {
    const SampleRule rule = state->rule(k);
    EXPECT_EQ(rule.allowed[0].end, codes);
    EXPECT_EQ(rule.ranges, k == 0 ? 2 : 1);
  }
  EXPECT_EQ(state->rule(0).allowed[1].begin, end);
  std::vector<int32_t> some = frames(2, 5);
  some[1] = end;  // the end counts only as code 0; no rule allows it elsewhere
  EXPECT_EQ(say(*state, some).next, Verdict::kContinue);
  EXPECT_EQ(state->history(1)[0], end);
  EXPECT_EQ(state->history(0).size(), 2u);
  const size_t spoken = said_.size();
  std::vector<int32_t> last = frames(1, 5);
  last[0] = end;
  const Verdict verdict = say(*state, last);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
  EXPECT_EQ(said_.size(), spoken) << "the end is not spoken";
  const auto cut = open_only(model_, r);
  EXPECT_EQ(say(*cut, frames(39)).next, Verdict::kContinue);
  EXPECT_EQ(say(*cut, frames(1)).reason, FinishReason::kLength);
  r.terms.ignore_stop = true;
  EXPECT_EQ(open_only(model_, r)->rule(0).ranges, 1);
  r.terms.max_frames = 0;
  EXPECT_GT(open_only(model_, r)->max_steps(), State::kSpareFrames);
}

TEST_F(MossTtsTest, Refusals) {
  const auto context = [&](ContextTurn turn) {
    SpeechRequest with = request("Hello.");
    with.say.context = {std::move(turn)};
    const Error error = refusal(with);
    EXPECT_EQ(error.param, "context");
    return error.message;
  };
  EXPECT_NE(context({"bob", "hi", frames(2)}).find("expected 0"), std::string::npos);
  EXPECT_NE(context({"assistant", "hi", {}}).find("its audio"), std::string::npos);
  EXPECT_NE(context({"user", "hi", frames(2, 64)}).find("code 64"), std::string::npos);
  EXPECT_NE(context({"user", "hi", {1, 2}}).find("not whole frames"), std::string::npos);
  EXPECT_NE(context({"user", "hi", frames(1100)}).find("context length"), std::string::npos);
  std::string text;
  while (text.size() < 8000) text += "The quick brown fox. ";
  EXPECT_EQ(refusal(request(text)).param, "input");
  SpeechRequest late = request("Hello");
  late.say.open = true;
  EXPECT_FALSE(open_only(model_, late)->append_text(text, false).ok());
}

TEST_F(MossTtsTest, ARecordingBecomesTheVoiceOfTheGolden) {
  const Safetensors golden(golden_dir("other_shapes") + "/talk.safetensors");
  const View sound = golden.view("recording");
  const auto voice = encode(*model_.voice_encoder(),
                            {{sound.f32(), sound.f32() + sound.count()}, 8000, "not needed"});
  EXPECT_EQ(voice->family, "moss_tts");
  ASSERT_TRUE(voice->find("codes"));
  EXPECT_EQ(ints(*voice->find("codes")), ints(golden.view("voice")));
}

}  // namespace
}  // namespace syrinx::moss_tts
