#include "text/tokens/regex.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/tokens/pre_tokenizer.h"

namespace syrinx {
namespace {

using Found = RegexMatcher::Found;

std::vector<std::string> pieces(const std::string& pattern, const std::string& text,
                                SplitBehavior behavior = SplitBehavior::kIsolated,
                                bool invert = false) {
  std::vector<SplitStage> stages(1);
  stages[0].pattern.emplace_back(pattern, "test");
  stages[0].behavior = behavior;
  stages[0].invert = invert;
  return PreTokenizer(std::move(stages)).split(text);
}

using Strings = std::vector<std::string>;

TEST(Regex, TranslatesWhatReadsDifferently) {
  EXPECT_EQ(translate_pattern("a\\\\s", "t"), "a\\\\s");
  EXPECT_EQ(translate_pattern("[]a]", "t"), "[\\]a]");
  EXPECT_EQ(translate_pattern("\\u3002", "t"), "\\x{3002}");
  EXPECT_EQ(pieces("\\s+", "a\u180e b\u0085c"), (Strings{"a\u180e", " ", "b", "\u0085", "c"}));
  EXPECT_EQ(pieces("[^\\s\\w]+", "a\u0301b, c"), (Strings{"a\u0301b", ",", " c"}));
  EXPECT_EQ(pieces("\\h+", "xyzabc"), (Strings{"xyz", "abc"}));
}

TEST(Regex, RefusesWhatItCannotDo) {
  for (const char* pattern :
       {"[a&&b]", "[a[bc]]", "[\\S]", "(", "\\", "\\u12", "[[:alpha:", "\\p{NoSuch}", "[z-a]"}) {
    EXPECT_THROW(Regex(pattern, "tokenizer.json"), LoadError) << pattern;
  }
  EXPECT_THROW(Regex(std::string(1000, '(') + std::string(1000, ')'), "t"), LoadError);
  EXPECT_THROW(Regex(std::string(100'000, 'a'), "t"), LoadError);
}

TEST(Regex, BehavesInEveryWay) {
  EXPECT_EQ(pieces("-", "a-b--c"), (Strings{"a", "-", "b", "-", "-", "c"}));
  EXPECT_EQ(pieces("-", "a-b--c", SplitBehavior::kRemoved), (Strings{"a", "b", "c"}));
  EXPECT_EQ(pieces("-", "a-b--c", SplitBehavior::kMergedWithPrevious),
            (Strings{"a-", "b-", "-", "c"}));
  EXPECT_EQ(pieces("-", "a-b--c", SplitBehavior::kMergedWithNext), (Strings{"a", "-b", "-", "-c"}));
  EXPECT_EQ(pieces("-", "a-b--c", SplitBehavior::kContiguous), (Strings{"a", "-", "b", "--", "c"}));
  EXPECT_EQ(pieces("[a-c]", "a-b", SplitBehavior::kRemoved, true), (Strings{"a", "b"}));
  EXPECT_EQ(pieces("x*", "ab"), (Strings{"a", "b"}));  // an empty match cuts the text, too
}

TEST(Regex, UnfinishedMeansThatMoreTextMatters) {
  const Regex regex("\\s+(?!\\S)|\\s+|\\p{L}+", "t");
  RegexMatcher matcher(regex);
  EXPECT_EQ(matcher.find("ab c", 0, true), Found::kMatch);
  EXPECT_EQ(matcher.end(), 2u);
  EXPECT_EQ(matcher.find("ab c", 2, true), Found::kMatch);
  EXPECT_EQ(matcher.find("ab c", 3, true), Found::kUnfinished);
  EXPECT_EQ(matcher.begin(), 3u);
  EXPECT_EQ(matcher.find("ab c", 3), Found::kMatch);
  EXPECT_EQ(matcher.find("1", 0), Found::kNone);
  EXPECT_EQ(matcher.find("", 0), Found::kNone);
  EXPECT_FALSE(regex.looks_behind());
  EXPECT_TRUE(Regex("(?<=a)b", "t").looks_behind());
  EXPECT_TRUE(Regex("\\bword", "t").looks_behind());
}

TEST(Regex, CostIsBounded) {
  const auto out = pieces("(a+)+$", std::string(40, 'a') + "b");  // needs exponential backtracking
  std::string joined;
  for (const auto& piece : out) joined += piece;
  EXPECT_EQ(joined, std::string(40, 'a') + "b");
}

}  // namespace
}  // namespace syrinx
