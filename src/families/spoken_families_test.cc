// Tests what every family that speaks text in segments must do: bounds, late text, keys,
// companions, and rows that a new segment keeps. kSpokenFamilies has a row per family. Tests of
// what only one family does are in its folder.
#include <gtest/gtest.h>

#include "families/golden_models.h"
#include "families/spoken/codec_lm.h"
#include "model/step_runner.h"

namespace syrinx {
namespace {

struct SpokenFamily {
  const char* name;         ///< of a row of kGoldenModels
  size_t long_text = 1000;  ///< bytes of a text that is spoken in at least three segments
  bool guided = false;
  /// Adds frames whose last code is `last` to a request, as a voice or as context. Null: the model
  /// accepts no frames.
  void (*hear)(SpeechRequest& request, int32_t last) = nullptr;
  int32_t end = -1;       ///< a step whose codes all have this value ends a segment; -1: not tested
  int late_segments = 2;  ///< least number of segments of the late text
  int32_t spoken = -1;    ///< a code that is spoken; -1: the test takes one from the rule
};

void hear_csm(SpeechRequest& request, int32_t last) {
  std::vector<int32_t> codes(7 * 6, 5);
  codes.back() = last;
  request.say.context = {{"1", "how are you?", codes}};
}
void hear_higgs(SpeechRequest& request, int32_t last) {
  std::vector<int32_t> codes(7 * 8, 5);
  codes.back() = last;
  request.voice.data = voice_of_frames("higgs_audio", codes, 8, "how are you?");
}

constexpr SpokenFamily kSpokenFamilies[] = {
    {.name = "orpheus", .end = 0},
    {.name = "higgs", .hear = hear_higgs, .end = 33},
    {.name = "csm_taught", .hear = hear_csm, .end = 0, .late_segments = 3},
    {.name = "fish_speech", .long_text = 4500},
    {.name = "opuslm", .guided = true},
    {.name = "zonos", .guided = true},
    {.name = "cosyvoice2"},
    {.name = "cosyvoice3", .spoken = 3},
    {.name = "chatterbox", .guided = true},
    {.name = "chatterbox_multilingual", .guided = true},
    {.name = "chatterbox_turbo"},
    {.name = "voxtral_tts", .end = 1},
    {.name = "qwen3_tts_projected", .long_text = 9000, .end = 142},
};

class SpokenFamilies : public testing::TestWithParam<SpokenFamily> {
 protected:
  static SpeechRequest say(const std::string& text) {
    SpeechRequest request;
    request.say.text = text;
    request.sampling.temperature = 0.f;
    return request;
  }
  static std::string long_text() {
    std::string text;
    while (text.size() < GetParam().long_text)
      text += "The quick brown fox jumps over the lazy dog. ";
    return text;
  }
  std::unique_ptr<Sequence> open(const SpeechRequest& request) const {
    return open_only(*model_, request);
  }
  Verdict advance(Sequence& state, std::span<const int32_t> codes) {
    std::vector<WordMark> words;
    StepOutput out(frames_, words);
    return state.advance(codes, out);
  }
  /// Takes a step with codes that the rules allow and that end nothing.
  Verdict step(Sequence& state) {
    std::vector<int32_t> codes;
    for (size_t k = 0; k < codes_a_step(); ++k) {
      const SampleRule rule = state.rule(static_cast<int>(k));
      const auto widest =
          std::ranges::max_element(std::span(rule.allowed).first(rule.ranges), {},
                                   [](const IdRange& range) { return range.end - range.begin; });
      const int32_t usual = rule.ranges > 0 ? widest->begin + 1 : 1;
      const int32_t spoken = GetParam().spoken >= 0 ? GetParam().spoken : usual;
      codes.push_back(rule.forced >= 0 ? rule.forced : spoken);
    }
    return advance(state, codes);
  }
  /// Ends the segment with codes `end`, then takes the steps of the pattern's tail, if any.
  Verdict end(Sequence& state) {
    Verdict verdict = advance(state, std::vector<int32_t>(codes_a_step(), GetParam().end));
    while (verdict.next == Verdict::kContinue) verdict = step(state);
    return verdict;
  }
  size_t codes_a_step() const { return model_->graph().ar().traits().vocab.size(); }
  /// Takes steps until the segment reaches its bound.
  Verdict run_segment(Sequence& state) {
    const int most = state.max_steps();
    for (int i = 0; i + 1 < most; ++i) {
      const Verdict verdict = step(state);
      EXPECT_EQ(verdict.next, Verdict::kContinue) << i << " of " << most;
      if (verdict.next != Verdict::kContinue) return verdict;
    }
    return step(state);
  }
  using Row = std::pair<std::vector<int32_t>, std::vector<float>>;
  std::vector<Row> rows_of(const Sequence& state, int count, bool companion = false) const {
    std::vector<Row> rows;
    for (int pos = 0; pos < count; ++pos) {
      std::vector<int32_t> ids(static_cast<size_t>(tables_));
      const GivenRow vector = row_of(state, pos, companion, ids);
      rows.emplace_back(std::move(ids), std::vector<float>(vector.begin(), vector.end()));
    }
    return rows;
  }
  static void expect_kept(const std::vector<Row>& before, const std::vector<Row>& after, int kept) {
    ASSERT_LE(kept, std::ssize(after));
    for (int row = 0; row < std::min<int>(kept, static_cast<int>(before.size())); ++row) {
      ASSERT_EQ(before[row], after[row]) << "row " << row << " of " << kept;
    }
  }
  size_t frames() const {
    return frames_.size() / static_cast<size_t>(model_->graph().links()[0].stage->in_width());
  }

  const std::shared_ptr<const Pipeline> model_ = load_golden(
      *std::ranges::find(kGoldenModels, std::string_view(GetParam().name),
                         [](const GoldenModel& each) { return std::string_view(each.name); }));
  const int tables_ = dynamic_cast<const CodecLm&>(model_->graph().ar()).tables();
  std::vector<int32_t> frames_;
};

TEST_P(SpokenFamilies, ALongTextIsSpokenInSegmentsThatKeepTheirRows) {
  SpeechRequest request = say(long_text());
  if (GetParam().guided) request.sampling.guidance = 2.f;
  request.terms.ignore_stop = true;
  const auto state = open(request);
  const size_t marks = state->history(0).size();
  int segments = 1;
  for (; segments < 10; ++segments) {
    const int most = state->max_steps();
    for (int i = 0; i + 1 < most; ++i) ASSERT_EQ(step(*state).next, Verdict::kContinue);
    const int rows = state->prompt_rows() + most - 1;
    const auto before = rows_of(*state, rows);
    const auto companion = rows_of(*state, rows, state->guidance().has_value());
    const Verdict verdict = step(*state);
    if (verdict.next == Verdict::kFinished) {
      EXPECT_EQ(verdict.reason, FinishReason::kLength);
      break;
    }
    ASSERT_EQ(verdict.next, Verdict::kNextSegment);
    ASSERT_TRUE(state->ready());
    EXPECT_EQ(state->history(0).size(), marks) << "a penalty looks at its own segment";
    expect_kept(before, rows_of(*state, state->prompt_rows()), verdict.kept);
    if (!GetParam().guided) continue;
    expect_kept(companion, rows_of(*state, state->companion_rows(), true), verdict.companion_kept);
  }
  EXPECT_GE(segments, 3);
}

TEST_P(SpokenFamilies, AllSegmentsTogetherHaveOneBound) {
  SpeechRequest request = say(long_text());
  request.terms.max_frames = 12;
  const auto state = open(request);
  const Verdict verdict = run_segment(*state);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kLength);
  EXPECT_EQ(frames(), 12u);
}

TEST_P(SpokenFamilies, ASegmentThatEndedLeavesTheRestOfTheBound) {
  if (GetParam().end < 0) return;
  SpeechRequest request = say(long_text());
  request.terms.max_frames = 24;
  const auto state = open(request);
  const int whole = state->max_steps();
  for (int i = 0; i < 14; ++i) ASSERT_EQ(step(*state).next, Verdict::kContinue);
  ASSERT_EQ(end(*state).next, Verdict::kNextSegment);
  const size_t before = frames();
  EXPECT_GE(before, 8u);
  EXPECT_LT(state->max_steps(), whole);
  const Verdict verdict = run_segment(*state);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kLength);
  EXPECT_EQ(frames(), 24u);
}

TEST_P(SpokenFamilies, LateTextIsTheSameHoweverItComes) {
  if (model_->info().speech.late_text != LateText::kSentence) return;
  const std::string text =
      "Hello there, this is the first of the sentences that are to be said at last. "
      "How are you today, and how is everybody else at home? I am fine.";
  const auto prompts = [&](size_t piece) {
    SpeechRequest request = say("");
    request.say.open = true;
    const auto state = open(request);
    EXPECT_FALSE(state->ready());
    std::vector<std::vector<int32_t>> all;
    for (size_t at = 0; at < text.size(); at += piece) {
      EXPECT_TRUE(state->append_text(text.substr(at, piece), at + piece >= text.size()).ok());
      while (state->ready()) {
        all.emplace_back(state->prompt_ids().begin(), state->prompt_ids().end());
        if (run_segment(*state).next == Verdict::kFinished) return all;
      }
    }
    ADD_FAILURE() << "the request never ended";
    return all;
  };
  const auto whole = prompts(text.size());
  EXPECT_GE(std::ssize(whole), GetParam().late_segments);
  for (const size_t piece : {1, 7, 50}) EXPECT_EQ(prompts(piece), whole) << piece;
}

TEST_P(SpokenFamilies, EachRowOfAPromptHasItsKey) {
  const auto keys = [&](const std::string& text) {
    std::vector<uint64_t> out;
    open(say(text))->prefix_keys(false, out);
    return out;
  };
  const std::vector<uint64_t> hello = keys("Hello there.");
  EXPECT_EQ(std::ssize(hello), open(say("Hello there."))->prompt_rows());
  EXPECT_EQ(hello, keys("Hello there."));
  EXPECT_NE(hello, keys("Hello where."));
}

TEST_P(SpokenFamilies, AGuidedRequestHasACompanion) {
  SpeechRequest request = say("Hello there.");
  if (!GetParam().guided) {
    EXPECT_FALSE(open(request)->guidance());
    return;
  }
  request.sampling.guidance = 1.f;
  EXPECT_FALSE(open(request)->guidance()) << "a scale of 1 is no guidance";
  request.sampling.guidance = 3.f;
  const auto state = open(request);
  EXPECT_EQ(state->guidance(), 3.f);
  step(*state);
  const int prompt = state->prompt_rows();
  ASSERT_EQ(state->companion_rows(), prompt);
  const auto rows = rows_of(*state, prompt + 1), companion = rows_of(*state, prompt + 1, true);
  EXPECT_NE(rows, companion);
  EXPECT_EQ(rows.back(), companion.back()) << "both are fed what was sampled";
  std::vector<uint64_t> keys, companion_keys;
  state->prefix_keys(false, keys), state->prefix_keys(true, companion_keys);
  ASSERT_EQ(std::ssize(companion_keys), prompt);
  for (int row = 0; row < prompt; ++row) {
    EXPECT_EQ(keys[row] == companion_keys[row], rows[row] == companion[row]) << row;
  }
}

TEST_P(SpokenFamilies, OtherFramesHaveOtherKeys) {
  if (!GetParam().hear) return;
  const auto keys = [&](int32_t last) {
    SpeechRequest request = say("Hello there.");
    GetParam().hear(request, last);
    std::vector<uint64_t> out;
    open(request)->prefix_keys(false, out);
    return out;
  };
  const std::vector<uint64_t> one = keys(5), other = keys(6);
  EXPECT_EQ(one, keys(5));
  ASSERT_EQ(one.size(), other.size());
  int differ = 0;
  for (size_t i = 0; i < one.size(); ++i) differ += one[i] != other[i];
  EXPECT_EQ(differ, 1);
}

INSTANTIATE_TEST_SUITE_P(All, SpokenFamilies, testing::ValuesIn(kSpokenFamilies),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace syrinx
