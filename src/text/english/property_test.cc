// Tests properties that must hold for any bytes, with seeded random texts.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "text/english/reader.h"
#include "text/utf8.h"

namespace syrinx::english {
namespace {

/// Returns fragments that the rules use, so that random texts reach them.
const std::vector<std::string>& fragments() {
  static const std::vector<std::string> all = {
      "$",           "1",        "23",      "4,567",     ".5",  "1999",    "%",     "km",   "/",
      "-",           "–",        "—",       ":",         "30",  "pm",      "a.m.",  "Nov",  "21",
      "st",          "Dr.",      "St.",     "A",         "I",   "VIII",    "Henry", "e.g.", "@",
      "x.com",       "#",        "http://", "www.",      "_",   "__",      "**",    "`",    "[",
      "](",          ")",        "<b>",     "&amp;",     "&#",  ";",       "'",     "\"",   "°C",
      "½",           "²",        "α",       "日本",      "😀",   "\u200d",  "\n",    "\n\n", "\t",
      "...",         "!?",       "HTTP",    "camelCase", "C++", "=",       "<",     ">",    "USD",
      "€",           "No.",      "ft",      "in",        "x",   "×",       "the",   "word", "don't",
      "192.168.0.1", "v2.1",     "+1",      "555",       "$x",  "\\frac{", "}",     "^",    "<sup>",
      "</sup>",      "<script>", "<|",      "|>",        "µ",   "Ω",       "→",     "−",    "·",
      "₺",           "0,5",      "\\(",     "[INST]"};
  return all;
}

std::string random_text(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::string text;
  const uint32_t parts = below(60);
  const uint32_t kind = below(4);  // 0 to 3: fragments, code points, bytes, or a mixture
  for (uint32_t i = 0; i < parts; ++i) {
    const uint32_t choice = kind < 3 && below(8) > 0 ? kind : below(3);
    if (choice == 0) text += fragments()[below(static_cast<uint32_t>(fragments().size()))];
    if (choice == 1) {
      const uint32_t plane = below(3);
      utf8_append(text, plane == 0 ? below(0x250) : plane == 1 ? below(0x3000) : below(0x110000));
    }
    if (choice == 2) text += static_cast<char>(below(256));
    if (below(3) == 0) text += ' ';
  }
  return text;
}

void expect_sound(const std::string& text, const std::vector<Piece>& pieces) {
  size_t words = 0;
  const Piece* before = nullptr;
  for (const Piece& piece : pieces) {
    words += piece.words.size() + 1;
    ASSERT_FALSE(piece.words.empty()) << text;
    ASSERT_EQ(
        piece.words.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ' "),
        std::string::npos)
        << '"' << piece.words << "\" of " << text;
    ASSERT_EQ(piece.words.find("  "), std::string::npos) << piece.words;
    ASSERT_TRUE(piece.words.front() != ' ' && piece.words.back() != ' ') << piece.words;
    ASSERT_TRUE(piece.mark == 0 || std::string_view(",;:.?!").find(piece.mark) < 6) << text;
    ASSERT_GE(piece.begin, before ? before->begin : 0) << text;
    ASSERT_GE(piece.end, before ? before->end : 0) << text;
    ASSERT_LT(piece.begin, piece.end) << text;
    ASSERT_LE(piece.end, static_cast<int64_t>(text.size())) << text;
    before = &piece;
  }
  ASSERT_LE(words, 16 * text.size() + 64) << text;
}

TEST(English, AnyBytesAreReadInWordsAndInOrder) {
  std::mt19937 random(20261121);
  for (int i = 0; i < 20000 && !testing::Test::HasFatalFailure(); ++i) {
    const std::string text = random_text(random);
    expect_sound(text, read_sentence(text, i % 2 == 0));
  }
}

TEST(English, EveryCodePointIsReadOrSkipped) {
  for (char32_t code = 0; code < 0x30000 && !testing::Test::HasFatalFailure(); ++code) {
    std::string text;
    utf8_append(text, code);
    expect_sound(text, read_sentence(text));
    const std::string between = "a" + text + "1";
    expect_sound(between, read_sentence(between));
  }
}

TEST(English, LongRunsStayLinear) {
  for (const char* part : {"a", "1", "$", "%", "](", "<", "&", "'", "-", "((", "\xCE\xB1", "1/"}) {
    std::string text;
    while (text.size() < 100'000) text += part;
    expect_sound(text, read_sentence(text));
  }
}

TEST(English, MarksFollowThePunctuation) {
  const auto read = [](std::string_view text) {
    std::string out;
    for (const Piece& piece : read_sentence(text)) {
      out += (out.empty() ? "" : " ") + piece.words;
      if (piece.mark != 0) out += piece.mark;
    }
    return out;
  };
  EXPECT_EQ(read("Well... maybe, he (the boss) left—quickly"),
            "Well, maybe, he, the boss, left, quickly.");
  EXPECT_EQ(read("Is it 5:30, Mr. Smith?"), "Is it five thirty, mister Smith?");
  EXPECT_EQ(read("At 9:05 a.m., noon, etc., it rang"),
            "At nine oh five A M, noon, et cetera, it rang.");
  EXPECT_EQ(read("Stop; now: go!"), "Stop; now: go!");
  EXPECT_EQ(read("On Nov. 21, 2026 at 5 p.m. we left."),
            "On november twenty first twenty twenty six at five P M we left.");
}

TEST(English, PiecesKnowTheirBytes) {
  const std::string text = "Über €5 million, &amp; Nov. 21, 2026!";
  const auto pieces = read_sentence(text);
  ASSERT_EQ(pieces.size(), 4u);
  const auto bytes = [&](int i) {
    return text.substr(static_cast<size_t>(pieces[i].begin),
                       static_cast<size_t>(pieces[i].end - pieces[i].begin));
  };
  EXPECT_EQ(bytes(0), "Über");
  EXPECT_EQ(bytes(1), "€5 million");
  EXPECT_EQ(bytes(2), "&amp;");
  EXPECT_EQ(bytes(3), "Nov. 21, 2026");
}

TEST(English, WhatCannotBeSpokenIsSkipped) {
  for (const char* text :
       {"", " \n\t ", "...!? -- ", "😀 日本語", "---", "###", "<br/>", "\xff\xfe"}) {
    EXPECT_TRUE(read_sentence(text).empty()) << text;
  }
}

}  // namespace
}  // namespace syrinx::english
