#include "families/finch/sentences.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace syrinx::finch {
namespace {

std::string joined(const std::deque<Sentence>& sentences) {
  std::string out;
  for (const Sentence& sentence : sentences) {
    out += (out.empty() ? "" : "\n") + sentence.text();
  }
  return out;
}

/// Adds text and moves every sentence that is ready to `out`.
void push(SentenceReader& reader, std::string_view text, bool last, std::deque<Sentence>& out) {
  reader.push(text, last);
  while (reader.next(out)) {
  }
}

std::string spoken(std::string_view text) { return joined(split_sentences(text)); }

TEST(Sentences, AreReadInWords) {
  EXPECT_EQ(spoken("It costs $37.50."), "It costs thirty seven dollars and fifty cents.");
  EXPECT_EQ(spoken("On 12/1/2024, the FBI left."),
            "On december first twenty twenty four, the F B I left.");
  EXPECT_EQ(spoken("Hi 😀 there 日本語 Привет!"), "Hi there!");
  EXPECT_EQ(spoken("😀 日本語"), "");
  EXPECT_EQ(spoken(" \n\t ...!? -- "), "");
  EXPECT_EQ(spoken(""), "");
}

TEST(Sentences, AreCutAtTheirEnds) {
  EXPECT_EQ(spoken("Mr. Smith met Dr. Jones. They left."),
            "mister Smith met doctor Jones.\nThey left.");
  EXPECT_EQ(spoken("Really? Yes! Well... maybe."), "Really?\nYes!\nWell, maybe.");
  EXPECT_EQ(spoken("In the U.S. in 1954."), "In the U S in nineteen fifty four.");
  EXPECT_EQ(spoken("Title\n\nFirst line\nsecond line.\n- item\n- other"),
            "Title.\nFirst line second line.\nitem.\nother.");
  EXPECT_EQ(spoken("He (the boss) left—quickly."), "He, the boss, left, quickly.");
}

TEST(Sentences, RiseOnlyInYesNoQuestions) {
  EXPECT_TRUE(split_sentences("Is it raining?")[0].rising);
  EXPECT_FALSE(split_sentences("Where is it?")[0].rising);
  EXPECT_FALSE(split_sentences("It is raining.")[0].rising);
}

/// Returns the sentences, one per line, with "/" after those whose pitch rises.
std::string tunes(std::string_view text, bool by_word = false) {
  SentenceReader reader({}, nullptr, by_word);
  std::deque<Sentence> sentences;
  push(reader, text, true, sentences);
  std::string out;
  for (const Sentence& one : sentences) {
    out += (out.empty() ? "" : "\n") + one.text() + (one.rising ? " /" : "");
  }
  return out;
}

TEST(Sentences, RiseBehindTheFirstOfTwoThings) {
  EXPECT_EQ(tunes("Would you like tea or coffee?"), "Would you like tea /\nor coffee?");
  EXPECT_EQ(tunes("Would you like tea or coffee?", true), "Would you like tea or coffee?");
  EXPECT_EQ(tunes("Would you like an hour or two?"), "Would you like an hour or two? /");
  const std::string filler(" and so on and on and on and on and on and on and on and on and on");
  // The "or" begins a new part of the sentence.
  const std::string asked =
      "Is it" + filler + filler + ", or is it the other one that you have seen?";
  EXPECT_EQ(split_sentences(asked).back().text().find("or is it"), 0u);
  EXPECT_FALSE(split_sentences(asked).back().rising);
}

TEST(Sentences, RiseWithinASentence) {
  EXPECT_EQ(tunes("\"Is it late?\" she asked. \"Who is it?\" he said."),
            "Is it late? /\nshe asked.\nWho is it?\nhe said.");
  EXPECT_EQ(tunes("\"Is it late?\" she asked.", true), "Is it late, she asked.");
}

TEST(Sentences, RememberTheQuestionWordOfAnEarlierPart) {
  const std::string filler(" and so on and on and on and on and on and on and on and on and on");
  const std::string rest = filler + filler + filler + ", is it?";
  EXPECT_FALSE(split_sentences("Where is it" + rest).back().rising);
  EXPECT_TRUE(split_sentences("There it is" + rest).back().rising);
}

TEST(Sentences, AQuestionWordCountsForItsOwnSentenceOnly) {
  EXPECT_TRUE(split_sentences("Where is it? Is it raining?").back().rising);
  EXPECT_TRUE(split_sentences("It is here. Is it raining?").back().rising);
  std::string many = "Where is it";  // this question is cut into more than two parts
  while (many.size() < 3 * kMaxSentenceChars) many += " and so on";
  many += ", is it?";
  EXPECT_GT(split_sentences(many).size(), 3u);
  EXPECT_FALSE(split_sentences(many).back().rising);
  EXPECT_TRUE(split_sentences(many + " Is it raining?").back().rising);
}

TEST(Sentences, ThatFitExactlyStayWhole) {
  std::string text;
  while (text.size() < kMaxSentenceChars) text += "word ";
  ASSERT_EQ(text.size(), kMaxSentenceChars);
  text.back() = '.';
  EXPECT_EQ(split_sentences(text).size(), 1u);
  EXPECT_EQ(split_sentences("s" + text).size(), 2u);
}

TEST(Sentences, AreNotCutAtACommaNearTheirBeginning) {
  std::string text = "Yes, there";
  for (int i = 0; i < 8; ++i) text += " 999999";
  const auto parts = split_sentences(text + ".");
  ASSERT_GT(parts.size(), 1u);
  EXPECT_GT(parts[0].text().size(), kMaxSentenceChars / 2);
}

TEST(Sentences, LongOnesAreCut) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "several words without any stop ";
  const auto parts = split_sentences(text);
  EXPECT_GT(parts.size(), 20u);
  for (const Sentence& part : parts) EXPECT_LE(part.text().size(), kMaxSentenceChars);
  // A single word without an end.
  for (const Sentence& part : split_sentences(std::string(5000, 'a'))) {
    EXPECT_LE(part.text().size(), kMaxSentenceChars);
  }
}

TEST(Sentences, ALongOneDoesNotWaitForItsEnd) {
  SentenceReader reader;
  std::deque<Sentence> out;
  std::string text;
  while (text.size() < kMaxSentenceChars + 10) text += "words and ";
  push(reader, text, false, out);
  EXPECT_EQ(out.size(), 1u);
}

TEST(Sentences, EndAsSoonAsTheNextOneBegins) {
  for (const char* text :
       {"It costs $5. W", "He won 3-2! 4", "At 5 p.m. it rained. “A", "Title\n\nF", "Is it? W"}) {
    SentenceReader reader;
    std::deque<Sentence> out;
    const std::string all = text;
    push(reader, all.substr(0, all.size() - 1), false, out);
    push(reader, all.substr(all.size() - 1), false, out);
    EXPECT_EQ(out.size(), 1u) << text;
  }
}

TEST(Sentences, AreTheSameHoweverTheTextArrives) {
  const std::vector<std::string> fragments = {"Dr. Smith ", "paid $5 ",
                                              "million. ",  "Why",
                                              "? ",         "U.S. ",
                                              "\n",         "\n\n",
                                              "5 km",       "–",
                                              "é",          "😀",
                                              "Nov. 21, ",  "2026 ",
                                              "THE FBI ",   "www.x.com ",
                                              "a",          " ",
                                              ".",          "\xf0\x9f",
                                              "&amp; ",     "and then some more words came, ",
                                              "**b** ",     "1. ",
                                              "- "};
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint32_t i = random() % 60; i > 0; --i) {
      text += random() % 9 == 0 ? std::string(1, static_cast<char>(random() % 256))
                                : fragments[random() % fragments.size()];
    }
    const auto whole = split_sentences(text);
    SentenceReader reader;
    std::deque<Sentence> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t size = std::min<size_t>(1 + random() % (round % 3 ? 12 : 2), text.size() - at);
      push(reader, std::string_view(text).substr(at, size), false, pieces);
      at += size;
    }
    push(reader, "", true, pieces);
    ASSERT_EQ(joined(whole), joined(pieces)) << text;
    int64_t last = 0;
    for (size_t s = 0; s < whole.size(); ++s) {
      ASSERT_EQ(whole[s].rising, pieces[s].rising) << text;
      ASSERT_LE(whole[s].text().size(), kMaxSentenceChars) << text;
      for (size_t p = 0; p < whole[s].pieces.size(); ++p) {
        const Piece& piece = whole[s].pieces[p];
        ASSERT_EQ(piece.begin, pieces[s].pieces[p].begin) << text;
        ASSERT_EQ(piece.end, pieces[s].pieces[p].end) << text;
        ASSERT_LE(last, piece.begin) << text;
        ASSERT_LT(piece.begin, piece.end) << text;
        last = piece.begin;
      }
    }
    ASSERT_LE(last, static_cast<int64_t>(text.size()));
  }
}

/// A plain word is certain once two more words have arrived, an abbreviation after three more.
TEST(Sentences, WordsAreCertainWhenEnoughFollow) {
  const auto certain = [](const char* text) {
    SentenceReader reader;
    reader.push(text, false);
    return reader.begun().certain;
  };
  EXPECT_EQ(certain("See the "), 0u);
  EXPECT_EQ(certain("See the big "), 1u);
  EXPECT_EQ(certain("See the \u05d0 "), 0u);  // a word of another script is not spoken
  EXPECT_EQ(certain("See Dr. Smith there "), 1u);
  EXPECT_EQ(certain("See Dr. Smith there now "), 3u);
  // A word in capitals is certain once five more words decide whether it is emphasis. An emphasis
  // is certain once its end has arrived.
  EXPECT_EQ(certain("See NOW what it is you "), 1u);
  EXPECT_EQ(certain("See NOW what it is you do "), 5u);
  EXPECT_EQ(certain("We see *this and that and more "), 0u);
  EXPECT_EQ(certain("We see *this and that* and more "), 4u);
  EXPECT_EQ(certain("We see * this and that "), 4u);
}

TEST(Sentences, PiecesKnowTheirBytes) {
  const std::string text = "First. Über €5 million, ok?";
  const auto sentences = split_sentences(text);
  ASSERT_EQ(sentences.size(), 2u);
  ASSERT_EQ(sentences[1].pieces.size(), 3u);
  const auto bytes = [&](int i) {
    const Piece& piece = sentences[1].pieces[i];
    return text.substr(piece.begin, piece.end - piece.begin);
  };
  EXPECT_EQ(bytes(0), "Über");
  EXPECT_EQ(bytes(1), "€5 million");
  EXPECT_EQ(bytes(2), "ok");
}

}  // namespace
}  // namespace syrinx::finch
