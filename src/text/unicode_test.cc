#include "text/unicode.h"

#include <gtest/gtest.h>

#include <random>

#include "text/utf8.h"

namespace syrinx {
namespace {

TEST(Unicode, NormalForms) {
  EXPECT_EQ(normalize("e\xcc\x81", NormalForm::kNfc), "\xc3\xa9");
  EXPECT_EQ(normalize("\xc3\xa9", NormalForm::kNfd), "e\xcc\x81");
  EXPECT_EQ(normalize("\xef\xac\x81", NormalForm::kNfc), "\xef\xac\x81");
  EXPECT_EQ(normalize("\xef\xac\x81", NormalForm::kNfkc), "fi");
  EXPECT_EQ(normalize("e\xcc\x81", NormalForm::kNone), "e\xcc\x81");
  EXPECT_EQ(normalize(std::string("a\0b", 3), NormalForm::kNfc), std::string("a\0b", 3));
  EXPECT_EQ(normalize("", NormalForm::kNfc), "");
}

TEST(Unicode, LongRunsOfMarksCostLittle) {
  std::string text = "a";
  for (int i = 0; i < 100'000; ++i) text += i % 2 ? "\xcc\xa3" : "\xcc\x81";  // wrong order
  EXPECT_GT(normalize(text, NormalForm::kNfc).size(), 100'000u);
}

TEST(Unicode, NormalPrefixIsFinal) {
  std::mt19937 random(2);
  const char32_t kCodes[] = {'a',    'e',    ' ',   0x301, 0x323,  0xe9,   0x1100, 0x1161,
                             0x11a8, 0xac00, 0x9c7, 0x9be, 0x3099, 0x304b, 0x1f600};
  for (int round = 0; round < 20'000; ++round) {
    std::string head, tail;
    for (int i = 0; i < 5; ++i) utf8_append(head, kCodes[random() % std::size(kCodes)]);
    for (int i = 0; i < 3; ++i) utf8_append(tail, kCodes[random() % std::size(kCodes)]);
    const size_t cut = normal_prefix(head);
    ASSERT_EQ(normalize(head.substr(0, cut), NormalForm::kNfc) +
                  normalize(head.substr(cut) + tail, NormalForm::kNfc),
              normalize(head + tail, NormalForm::kNfc));
  }
}

TEST(Unicode, Classes) {
  EXPECT_TRUE(is_space(0x3000) && is_space('\n') && is_space(0x85));
  EXPECT_FALSE(is_space(0x180e) || is_space(0x200b) || is_space('a'));
  EXPECT_TRUE(is_word('_') && is_word(0xe9) && is_word(0x301) && is_word('7') && is_word(0x660e));
  EXPECT_FALSE(is_word('-') || is_word(' ') || is_word(0x3002));
  EXPECT_TRUE(is_letter('a') && is_upper('A') && is_lower('a') && is_digit('0'));
  EXPECT_FALSE(is_letter('1') || is_upper('a') || is_lower('A') || is_digit('a'));
}

TEST(Unicode, GeneralCategories) {
  const std::pair<Category, std::u32string_view> all[] = {
      {Category::kLetter, U"aZǅʰ明"},
      {Category::kMark, U"\u0301\u093e\u20dd"},
      {Category::kNumber, U"7Ⅷ½"},
      {Category::kPunctuation, U"_-()«»!。"},
      {Category::kSymbol, U"+$^©🌍"},
      {Category::kSeparator, U" \u00a0\u2028\u2029\u3000"},
      {Category::kOther, U"\n\u200b\ue000\u0378"}};
  for (const auto& [category, codes] : all) {
    for (const char32_t code : codes) {
      EXPECT_EQ(general_category(code), category) << static_cast<uint32_t>(code);
    }
  }
}

TEST(Unicode, SmallLettersAreThoseOfPython) {
  EXPECT_EQ(to_lower("Hello ÄÖÜ ÇA ЖУК"), "hello äöü ça жук");
  EXPECT_EQ(to_lower("ΟΔΟΣ ΣΟΦΟΣ, Σ"), "οδος σοφος, σ");
  EXPECT_EQ(to_lower("İstanbul"), "i\xcc\x87stanbul");
  EXPECT_EQ(to_lower("日本 ẞ"), "日本 ß");
}

TEST(Unicode, CapitalsAreOneLetterOrTwo) {
  EXPECT_EQ(to_upper(U'a'), "A");
  EXPECT_EQ(to_upper(U'é'), "É");
  EXPECT_EQ(to_upper(U'ß'), "SS");
  EXPECT_EQ(to_upper(U'5'), "5");
}

TEST(Unicode, DisplayColumns) {
  EXPECT_EQ(display_columns(""), 0u);
  EXPECT_EQ(display_columns("abc d"), 5u);
  EXPECT_EQ(display_columns("Größe"), 5u);
  EXPECT_EQ(display_columns("e\xcc\x81"), 1u) << "an accent of its own";
  EXPECT_EQ(display_columns("日本語"), 6u);
  EXPECT_EQ(display_columns("a\xff"), 2u);
}

}  // namespace
}  // namespace syrinx
