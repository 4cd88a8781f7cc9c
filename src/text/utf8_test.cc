#include "text/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace syrinx {
namespace {

const std::string kFffd = "\xef\xbf\xbd";

TEST(Utf8, EveryCodePointGoesThereAndBack) {
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    utf8_append(text, code);
    const CodePoint got = utf8_at(text, 0);
    ASSERT_TRUE(got.valid && got.value == code && got.size == text.size())
        << static_cast<uint32_t>(code);
    ASSERT_TRUE(utf8_before(text, text.size()).value == code);
  }
  std::string text;
  utf8_append(text, 0xd800);
  utf8_append(text, 0x110000);
  EXPECT_EQ(text, kFffd + kFffd);
}

TEST(Utf8, RepairsAsUnicodeRecommends) {
  EXPECT_EQ(utf8_repair("a\xff z"), "a" + kFffd + " z");
  EXPECT_EQ(utf8_repair("\xe2\x82"), kFffd);  // an incomplete sequence is one error
  EXPECT_EQ(utf8_repair("\xe2\x82z"), kFffd + "z");
  EXPECT_EQ(utf8_repair("\xc0\x80"), kFffd + kFffd);              // an overlong form
  EXPECT_EQ(utf8_repair("\xe0\x9f\xbf"), kFffd + kFffd + kFffd);  // an overlong form of three bytes
  EXPECT_EQ(utf8_repair("\xf0\x8f\xbf\xbf"), kFffd + kFffd + kFffd + kFffd);
  EXPECT_EQ(utf8_repair("\xe0\xa0\x80"), "\xe0\xa0\x80");
  EXPECT_EQ(utf8_repair("\xed\xa0\x80"), kFffd + kFffd + kFffd);  // a surrogate
  EXPECT_EQ(utf8_repair("\xf4\x90\x80\x80"), kFffd + kFffd + kFffd + kFffd);
  EXPECT_EQ(utf8_repair("\xf0\x9f\x98"), kFffd);
  EXPECT_EQ(utf8_repair("\x80"), kFffd);
  EXPECT_EQ(utf8_repair("fine \xc3\xa9"), "fine \xc3\xa9");
  EXPECT_EQ(utf8_error("ab\xff"), 2u);
  EXPECT_TRUE(utf8_valid(""));
  EXPECT_EQ(utf8_count("\xe6\x98\x8e\xe6\x9c\x88!"), 3u);
}

TEST(Utf8, KnowsWhatIsUnfinished) {
  EXPECT_EQ(utf8_unfinished("a"), 0u);
  EXPECT_EQ(utf8_unfinished(""), 0u);
  EXPECT_EQ(utf8_unfinished("a\xc3"), 1u);
  EXPECT_EQ(utf8_unfinished("a\xf0\x9f\x98"), 3u);
  EXPECT_EQ(utf8_unfinished("a\xf0\x9f"), 2u);
  EXPECT_EQ(utf8_unfinished("\xe2\x82\xac"), 0u);
  EXPECT_EQ(utf8_unfinished("\x82"), 0u);
  EXPECT_EQ(utf8_unfinished("\xed\xa0"), 0u);  // bytes that cannot begin a valid sequence
}

TEST(Utf8, RepairInPiecesIsRepairOfTheWhole) {
  std::mt19937 random(1);
  constexpr std::string_view kBytes("a\x80\xbf\xc2\xc3\xe2\x82\xac\xed\xa0\xf0\x9f\x98\xf4\x90\xff",
                                    16);
  for (int round = 0; round < 5000; ++round) {
    std::string whole, held, pieces;
    for (int i = 0; i < 12; ++i) {
      const char c = kBytes[random() % kBytes.size()];
      whole += c;
      held += c;
      const size_t complete = held.size() - utf8_unfinished(held);
      pieces += utf8_repair(held.substr(0, complete));
      held.erase(0, complete);
    }
    pieces += utf8_repair(held);
    ASSERT_EQ(pieces, utf8_repair(whole));
    ASSERT_TRUE(utf8_valid(pieces));
    for (size_t end = 1; end <= whole.size(); ++end) utf8_before(whole, end);
  }
}

}  // namespace
}  // namespace syrinx
