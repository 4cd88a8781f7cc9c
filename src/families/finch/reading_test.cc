#include <gtest/gtest.h>

#include <string>

#include "families/finch/numbers.h"
#include "families/finch/sentences.h"

namespace syrinx::finch {
namespace {

/// All sentences of a text, one per line.
std::string spoken(std::string_view text) {
  std::string out;
  for (const Sentence& sentence : split_sentences(text)) {
    out += (out.empty() ? "" : "\n") + sentence.text();
  }
  return out;
}

TEST(Numbers, InWords) {
  EXPECT_EQ(number_words("0"), "zero");
  EXPECT_EQ(number_words("13"), "thirteen");
  EXPECT_EQ(number_words("1,250"), "one thousand two hundred fifty");
  EXPECT_EQ(number_words("-3.05"), "minus three point zero five");
  EXPECT_EQ(number_words("1984"), "nineteen eighty four");
  EXPECT_EQ(number_words("1900"), "nineteen hundred");
  EXPECT_EQ(number_words("1906"), "nineteen oh six");
  EXPECT_EQ(number_words("2005"), "two thousand five");
  EXPECT_EQ(number_words("2024"), "twenty twenty four");
  EXPECT_EQ(number_words("007"), "zero zero seven");
  EXPECT_EQ(number_words("1000000"), "one million");
  EXPECT_EQ(number_words("123456789012345"),
            "one hundred twenty three trillion four hundred fifty six billion seven hundred "
            "eighty nine million twelve thousand three hundred forty five");
  EXPECT_EQ(number_words("1234567890123456").substr(0, 13), "one two three");
}

TEST(Reading, Money) {
  EXPECT_EQ(spoken("It costs $37.50."), "It costs thirty seven dollars and fifty cents.");
  EXPECT_EQ(spoken("€12.50 or £3.05"),
            "twelve euros and fifty cents or three pounds and five pence.");
  EXPECT_EQ(spoken("$1, $0.99, 20€, ¥500, ₹75"),
            "one dollar, ninety nine cents, twenty euros, five hundred yen, seventy five rupees.");
  EXPECT_EQ(spoken("$5 million and $1.5bn"),
            "five million dollars and one point five billion dollars.");
  EXPECT_EQ(spoken("-$5"), "minus five dollars.");
}

TEST(Reading, Quantities) {
  EXPECT_EQ(spoken("5km, 10 km/h, 1 lb and 8GB"),
            "five kilometers, ten kilometers per hour, one pound and eight gigabytes.");
  EXPECT_EQ(spoken("20°C or −5 °F"), "twenty degrees Celsius or minus five degrees Fahrenheit.");
  EXPECT_EQ(spoken("50% of 12.5 %"), "fifty percent of twelve point five percent.");
  EXPECT_EQ(spoken("pages 10-20, 1990–1995"),
            "pages ten to twenty, nineteen ninety to nineteen ninety five.");
  EXPECT_EQ(spoken("call 555-1234"), "call 555-1234.");
}

TEST(Reading, DatesAndAddresses) {
  EXPECT_EQ(spoken("On 2024-03-15."), "On March 15th, twenty twenty four.");
  EXPECT_EQ(spoken("On 12/1/2024."), "On December 1st, twenty twenty four.");
  EXPECT_EQ(spoken("Mail john.doe@example.org!"), "Mail john dot doe at example dot org!");
  EXPECT_EQ(spoken("See https://www.example.com/a-b."),
            "See www dot example dot com slash a dash b.");
  EXPECT_EQ(spoken("Open README.md of v2.5.1"),
            "Open README dot md of version two point five point one.");
}

TEST(Reading, Signs) {
  EXPECT_EQ(spoken("R&D, salt & pepper, 3 + 4 = 7"),
            "R and D, salt and pepper, three plus four equals seven.");
  EXPECT_EQ(spoken("#1 and #hello"), "number one and hashtag hello.");
  EXPECT_EQ(spoken("2*3 > 5"), "two times three greater than five.");
  EXPECT_EQ(spoken("**bold** and _it_ and `code`"), "bold and it and code.");
  EXPECT_EQ(spoken("AI uses APIs"), "A.I uses A.P.I's.");
}

TEST(Reading, WhatCannotBeSpokenIsSkipped) {
  EXPECT_EQ(spoken("Hi 😀 there 日本語 Привет!"), "Hi there!");
  EXPECT_EQ(spoken("Café naïve Straße"), "Cafe naive Strasse.");
  EXPECT_EQ(spoken("a\x01\xFF\xC0 b\xE2\x82 c"), "a b c.");
  EXPECT_EQ(spoken("😀 日本語"), "");
  EXPECT_EQ(spoken(" \n\t ...!? -- "), "");
  EXPECT_EQ(spoken(""), "");
}

TEST(Sentences, AreCutAtTheirEnds) {
  EXPECT_EQ(spoken("Mr. Smith met Dr. Jones. They left."), "Mr. Smith met Dr. Jones.\nThey left.");
  EXPECT_EQ(spoken("Really? Yes! Well... maybe."), "Really?\nYes!\nWell, maybe.");
  EXPECT_EQ(spoken("In the U.S. in 1954."), "In the U.S. in nineteen fifty four.");
  EXPECT_EQ(spoken("Title\n\nFirst line\nsecond line.\n- item\n- other"),
            "Title.\nFirst line second line.\nitem.\nother.");
  EXPECT_EQ(spoken("He (the boss) left—quickly."), "He, the boss, left, quickly.");
}

TEST(Sentences, RiseOnlyInYesNoQuestions) {
  EXPECT_TRUE(split_sentences("Is it raining?")[0].rising);
  EXPECT_FALSE(split_sentences("Where is it?")[0].rising);
  EXPECT_FALSE(split_sentences("It is raining.")[0].rising);
}

TEST(Sentences, LongOnesAreCut) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "several words without any stop ";
  const auto parts = split_sentences(text);
  EXPECT_GT(parts.size(), 20u);
  for (const Sentence& part : parts) EXPECT_LE(part.text().size(), kMaxSentenceChars);
  // One word that never ends.
  for (const Sentence& part : split_sentences(std::string(5000, 'a'))) {
    EXPECT_LE(part.text().size(), kMaxSentenceChars);
  }
}

TEST(Sentences, PiecesKnowTheirBytes) {
  const std::string text = "Über €5 million, ok?";
  for (const Sentence& sentence : split_sentences(text)) {
    ASSERT_EQ(sentence.pieces.size(), 3u);
    const auto bytes = [&](int i) {
      const Piece& piece = sentence.pieces[i];
      return text.substr(piece.begin, piece.end - piece.begin);
    };
    EXPECT_EQ(bytes(0), "Über");
    EXPECT_EQ(bytes(1), "€5 million");
    EXPECT_EQ(bytes(2), "ok");
  }
}

}  // namespace
}  // namespace syrinx::finch
