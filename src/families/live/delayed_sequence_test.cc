// Tests the text of a delayed-streams recogniser without a network: ends, times of words, bytes.
#include "families/live/delayed_sequence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace syrinx {
namespace {

constexpr int32_t kPad = 0, kMark = 1, kEnd = 2, kWorld = 3, kThe = 4, kIng = 5, kFirst = 6,
                  kRest = 7;

/// Returns the text of a model with ends: 3 rows in the first step, 12 rows of silence at the end.
DelayedText with_ends() {
  return {.width = 2,
          .before = 1,
          .after = 12,
          .delay_s = 0.08,
          .first = 3,
          .end = kEnd,
          .longest_word = 10};
}
/// Returns the text of a model with marks between words.
DelayedText with_marks() {
  return {.width = 2, .before = 13, .after = 13, .delay_s = 0.5, .word_end = kMark};
}

/// Feeds ids to a sequence. Collects the text, with a | after each step and a . after the last one.
class Spoken {
 public:
  Spoken(const DelayedText& text, int64_t rows) {
    const auto texts =
        std::make_shared<IdTexts>(IdTexts{"", "", "", " world", " the", "ing", "\xE6\x97", "\xA5"});
    sequence_ = std::make_unique<DelayedSequence>(text, texts, StreamKv(), nullptr, Hearing());
    const std::vector<float> values(size_t(rows * text.width));
    const Frames frames{.type = {Flow::kRows, 2}, .count = rows, .floats = values, .last = true};
    EXPECT_TRUE(sequence_->take(0, frames).ok());
  }
  std::string operator()(const std::vector<int32_t>& ids) {
    std::string text;
    for (const int32_t id : ids) {
      std::vector<int32_t> codes;
      std::vector<WordMark> marks;
      StepOutput output(codes, marks);
      const Verdict verdict = sequence_->advance(std::span(&id, 1), output);
      text += output.written() + (verdict.next == Verdict::kFinished ? "." : "|");
      for (const ScoredToken& token : output.tokens())
        if (!token.drawn.bytes.empty() || token.end_s > token.start_s) tokens.push_back(token);
    }
    return text;
  }
  /// Takes a step with the stage's values. Returns the log-probability of its report.
  float goes_on(const std::vector<float>& values) {
    std::vector<int32_t> codes;
    std::vector<WordMark> marks;
    StepOutput output(codes, marks, nullptr, nullptr, values);
    sequence_->advance(std::span(&kPad, 1), output);
    return output.tokens().empty() ? 1 : output.tokens().back().drawn.logprob;
  }
  void expect_times(size_t token, double start_s, double end_s) const {
    ASSERT_LT(token, tokens.size());
    EXPECT_NEAR(tokens[token].start_s, start_s, 1e-9) << token;
    EXPECT_NEAR(tokens[token].end_s, end_s, 1e-9) << token;
  }
  std::vector<ScoredToken> tokens;

 private:
  std::unique_ptr<DelayedSequence> sequence_;
};

TEST(DelayedSequence, AnEndDropsTextOnlyInTheSilenceAfterTheRecording) {
  std::vector<int32_t> ids(14, kPad);
  ids[0] = kWorld, ids[1] = kEnd, ids[2] = kThe;
  EXPECT_EQ(Spoken(with_ends(), 16)(ids), "world||||||||||||| the.");
  EXPECT_EQ(Spoken(with_ends(), 15)(std::vector(ids.begin(), ids.end() - 1)), "world||||||||||||.");
}

TEST(DelayedSequence, WordsWithoutMarksEndWhereTheyAreWritten) {
  Spoken spoken(with_ends(), 20);
  spoken({kPad, kWorld, kIng, kPad, kWorld});
  ASSERT_EQ(spoken.tokens.size(), 3u);
  spoken.expect_times(0, 0, 0.16);
  spoken.expect_times(1, 0.16, 0.16);  // the rest of the word
  spoken.expect_times(2, 0.16, 0.40);
  spoken(std::vector<int32_t>(11, kPad));
  spoken({kWorld});
  spoken.expect_times(3, 0.56, 1.36);  // at most 0.8 s long
}

/// The text lags behind the sound by the delay and the silence before the recording.
TEST(DelayedSequence, WordsLastFromMarkToMark) {
  EXPECT_EQ(with_marks().time_of(0), 0);
  EXPECT_NEAR(with_marks().time_of(25), 0.46, 1e-9);
  Spoken spoken(with_marks(), 60);
  spoken(std::vector<int32_t>(25, kPad));
  spoken({kMark, kPad, kThe, kIng, kMark, kWorld});
  ASSERT_EQ(spoken.tokens.size(), 3u);
  spoken.expect_times(0, 0.54, 0.70);
  spoken.expect_times(1, 0.70, 0.78);
  spoken.expect_times(2, 0.86, 0.94);  // after the second mark
  spoken(std::vector<int32_t>(20, kPad));
  spoken({kMark});
  spoken.expect_times(3, 0.94, 1.94);  // the pause after a word counts for at most a second
}

/// A certain pause has a finite logarithm. That of certain speech is not 0, which means unknown.
TEST(DelayedSequence, ReportsSayWhetherTheSpeakerGoesOn) {
  Spoken spoken(with_marks(), 10);
  EXPECT_EQ(spoken.goes_on({}), 0);
  EXPECT_NEAR(spoken.goes_on({std::log(3.f), 0}), std::log(0.25f), 1e-6);
  EXPECT_NEAR(spoken.goes_on({30, 0}), std::log(1e-6f), 1e-4);
  EXPECT_LT(spoken.goes_on({-30, 0}), 0);
  EXPECT_GT(spoken.goes_on({-30, 0}), -1e-5f);
  EXPECT_EQ(spoken.goes_on({std::nanf(""), 0}), 0);
}

TEST(DelayedSequence, CharactersAreWrittenWhole) {
  EXPECT_EQ(Spoken(with_marks(), 3)({kFirst, kRest, kFirst}), "|\xE6\x97\xA5|\xEF\xBF\xBD.");
}

}  // namespace
}  // namespace syrinx
