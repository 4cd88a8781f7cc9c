#include "ears/whisper_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "families/whisper/pipeline.h"

namespace syrinx {
namespace {

using nlohmann::json;

std::string words_checkpoint(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/whisper/" + name;
}

/// Words and joined punctuation must be those of the authors' code.
TEST(WhisperWords, AsTheAuthorsCutThem) {
  for (const char* name : {"small", "large"}) {
    const Tokenizer tokenizer = Tokenizer::load(words_checkpoint(name));
    const json cases = json::parse(std::ifstream(words_checkpoint(name) + "/golden/words.json"));
    for (const json& c : cases["alignments"]) {
      SCOPED_TRACE(c["language"].dump());
      std::vector<HeardWord> words =
          words_of_ids(tokenizer, c["text"].get<std::vector<int32_t>>(), c["language"] != "zh");
      ASSERT_EQ(words.size(), c["words"].size());
      for (size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(words[i].text, c["words"][i][0].get<std::string>());
        EXPECT_EQ(words[i].ids, c["words"][i][1].get<size_t>());
      }
      merge_punctuation(words);
      for (size_t i = 0; i < words.size(); ++i)
        EXPECT_EQ(words[i].text, c["merged"][i].get<std::string>());
    }
  }
}

TEST(WhisperWords, BrokenCharactersStandByThemselves) {
  const Tokenizer tokenizer = Tokenizer::load(words_checkpoint("small"));
  // The ids of "a", the first byte of a character, "b", the first byte of a character.
  const std::vector<int32_t> ids{tokenizer.encode("a")[0], tokenizer.encode("ü")[0],
                                 tokenizer.encode("b")[0], tokenizer.encode("ü")[0]};
  ASSERT_EQ(tokenizer.bytes(ids[1]).size(), 1u);
  std::string text;
  size_t count = 0;
  for (const HeardWord& word : words_of_ids(tokenizer, ids, false)) {
    text += word.text + "|";
    count += word.ids;
  }
  EXPECT_EQ(text, "a|\xef\xbf\xbd|b|\xef\xbf\xbd|");
  EXPECT_EQ(count, 4u);
  EXPECT_TRUE(words_of_ids(tokenizer, {}, true).empty());
}

TEST(WhisperWords, ThePathOfTheLargestSum) {
  // Row 0 belongs to columns 0 and 1, row 1 to column 2, row 2 to the columns from 3 on.
  const std::vector<float> gain{9,  9,  -1, -1, -1,  //
                                -1, -1, 9,  -1, -1,  //
                                -1, -1, -1, 9,  9};
  EXPECT_EQ(path_begins(gain, 3, 5), (std::vector<int>{0, 2, 3}));
  // With more rows than columns, several rows begin in the same column.
  EXPECT_EQ(path_begins(std::vector<float>{1, 1, 1, 1}, 4, 1), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(path_begins(std::vector<float>{1, 1, 1, 1}, 1, 4), (std::vector<int>{0}));
  // Compares the path with all paths through a matrix of 3 x 4.
  std::vector<float> odd{0.3f, -1, 2, 0.1f, 1.5f, 0.7f, -0.2f, 0.9f, -2, 0.4f, 1.1f, 0.6f};
  float best = -INFINITY;
  std::vector<int> want;
  const auto walk = [&](auto&& self, int r, int c, float sum, std::vector<int> begins) -> void {
    sum += odd[size_t(r) * 4 + c];
    if (r == 2 && c == 3 && sum > best) best = sum, want = begins;
    for (const auto& [down, right] : {std::pair{1, 1}, {1, 0}, {0, 1}}) {
      if (r + down > 2 || c + right > 3) continue;
      auto next = begins;
      if (down == 1) next.push_back(c + right);
      self(self, r + down, c + right, sum, next);
    }
  };
  walk(walk, 0, 0, 0, {0});
  EXPECT_EQ(path_begins(odd, 3, 4), want);
}

HeardWord spoken(const char* text, double start_s, double end_s) {
  return {.text = text, .ids = 1, .start_s = start_s, .end_s = end_s, .probability = 0.5f};
}

/// If a word's time includes the pause before it, the time is cut to twice the median length. The
/// same holds for the first word of a sentence.
TEST(WhisperWords, PausesAreNobodysWord) {
  std::vector<TranscriptSegment> segments(2);
  segments[0] = {.start_s = 10, .end_s = 14, .text = " One two."};
  segments[1] = {.start_s = 14, .end_s = 20, .text = " three four"};
  const std::vector<size_t> ids{3, 2};
  const double end_s = time_segments(
      {segments, ids, 10, 0}, {spoken(" One", 0, 4), spoken(" two", 4, 4.2), spoken(".", 4.2, 4.4),
                               spoken(" three", 4.4, 8), spoken(" four", 8, 8.2)});
  ASSERT_EQ(segments[0].words.size(), 2u);
  EXPECT_EQ(segments[0].words[0].word, "One");
  EXPECT_DOUBLE_EQ(segments[0].words[0].start_s, 13.6);  // 14 s minus twice 0.2 s
  EXPECT_DOUBLE_EQ(segments[0].start_s, 13.6);
  EXPECT_EQ(segments[0].words[1].word, "two.");
  EXPECT_DOUBLE_EQ(segments[0].words[1].end_s, 14.2);
  ASSERT_EQ(segments[1].words.size(), 2u);
  EXPECT_DOUBLE_EQ(segments[1].words[0].start_s, 17.6);  // the word follows a full stop
  EXPECT_DOUBLE_EQ(segments[1].end_s, 18.2);
  EXPECT_DOUBLE_EQ(end_s, 18.2);
}

/// A word that is only slightly too long is shortened, too.
TEST(WhisperWords, BesideTheEndOfASentenceWordsAreShort) {
  std::vector<TranscriptSegment> segments(1);
  segments[0] = {.start_s = 0, .end_s = 1.9};
  const std::vector<size_t> ids{5};
  time_segments({segments, ids, 0, 0},
                {spoken(" One", 0, 0.2), spoken(" two", 0.2, 0.4), spoken(".", 0.4, 0.6),
                 spoken(" three", 0.6, 1.1), spoken(" four", 1.1, 1.3)});
  ASSERT_EQ(segments[0].words.size(), 4u);
  EXPECT_DOUBLE_EQ(segments[0].words[2].start_s, 0.7);
}

TEST(WhisperWords, PunctuationJoinsTheFirstWordToo) {
  std::vector<HeardWord> words{spoken(" Hi", 0, 1), spoken(",", 1, 2), spoken(" you", 2, 3)};
  merge_punctuation(words);
  EXPECT_EQ(words[0].text, " Hi,");
  EXPECT_EQ(words[0].ids, 2u);
  EXPECT_EQ(words[1].text, "");
  EXPECT_EQ(words[2].text, " you");
}

/// A word that follows speech without a pause is not shortened.
TEST(WhisperWords, WithoutAPauseNothingIsCut) {
  std::vector<TranscriptSegment> segments(2);
  const std::vector<size_t> ids{3, 1};
  time_segments({segments, ids, 5, 5}, {spoken(" a", 0, 0.2), spoken(" b", 0.2, 0.4),
                                        spoken(" c", 0.4, 0.6), spoken(" long", 0.6, 1.2)});
  ASSERT_EQ(segments[1].words.size(), 1u);
  EXPECT_DOUBLE_EQ(segments[1].words[0].start_s, 5.6);
}

TEST(WhisperWords, SegmentsWithoutWordsStayAsTheyAre) {
  std::vector<TranscriptSegment> segments(1);
  segments[0] = {.start_s = 3, .end_s = 5};
  const std::vector<size_t> ids{0};
  EXPECT_DOUBLE_EQ(time_segments({segments, ids, 0, 0}, {}), 5);
  EXPECT_TRUE(segments[0].words.empty());
  EXPECT_DOUBLE_EQ(segments[0].start_s, 3);
}

}  // namespace
}  // namespace syrinx
