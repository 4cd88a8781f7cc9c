// Tests of the front end: phones, pauses, accents.
#include "families/finch/frontend.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/check.h"
#include "families/finch/config.h"
#include "text/phones.h"

namespace syrinx::finch {
namespace {

TEST(Frontend, GivesSymbolsBetweenPauses) {
  const Frontend frontend;
  const auto segments = frontend.read(split_sentences("The apple costs $5, right?")[0]);
  ASSERT_EQ(segments.size(), 1u);
  const auto& names = phone_names();
  EXPECT_EQ(names[segments[0].symbols.front().phone], "pau.start");
  EXPECT_EQ(names[segments[0].symbols.back().phone], "pau.rise");
  EXPECT_EQ(segments[0].words.size(), 5u);
  EXPECT_EQ(names[segments[0].symbols[2].phone], "iy");  // "the" before a vowel
}

/// Returns the phones of a text's first sentence without pauses, separated by spaces.
std::string phones(const Frontend& frontend, const std::string& text) {
  std::string out;
  const auto segments = frontend.read(split_sentences(text)[0]);
  for (const PhoneSymbol& symbol : segments[0].symbols) {
    if (symbol.word < 0) continue;
    out += (out.empty() ? "" : " ") + std::string(phone_names()[symbol.phone]);
  }
  return out;
}

TEST(Frontend, SaysTheNamesOfLetters) {
  const Frontend frontend;
  EXPECT_EQ(phones(frontend, "The FBI."), "dh iy eh1 f b iy1 ay1");
  EXPECT_EQ(phones(frontend, "A man."), "ax m ae1 n");
  EXPECT_EQ(phones(frontend, "Plan A."), "p l ae1 n ey");
  EXPECT_EQ(phones(frontend, "CPUs"), "s iy1 p iy1 y uw1 z");
  // Words in capitals that libflite would misread: a numeral, a state, a title.
  EXPECT_EQ(phones(frontend, "MIX IT"), phones(frontend, "mix it"));
  EXPECT_EQ(phones(frontend, "ME OR YOU"), phones(frontend, "me or you"));
}

/// Returns the phones of a text, with the given sayings and lexicon.
std::string phones_of(const Frontend& frontend, const std::string& text,
                      std::vector<Saying> sayings = {},
                      std::shared_ptr<const Lexicon> lexicon = nullptr) {
  SentenceReader reader(std::move(sayings), std::move(lexicon));
  reader.push(text, true);
  std::deque<Sentence> sentences;
  while (reader.next(sentences)) {
  }
  std::string out;
  for (const Sentence& sentence : sentences) {
    for (const Segment& segment : frontend.read(sentence)) {
      for (const PhoneSymbol& symbol : segment.symbols) {
        if (symbol.word < 0) continue;
        out += (out.empty() ? "" : " ") + std::string(phone_names()[symbol.phone]);
        if (symbol.lift > 0) out += '!';
      }
    }
  }
  return out;
}

TEST(Frontend, SaysGivenPhones) {
  const Frontend frontend;
  const Phones phones = phones_of_arpabet("S IH1 R IH0 NG K S").value();
  EXPECT_EQ(phones_of(frontend, "Go 12x now.", {{3, 6, "", phones}}),
            "g ow1 s ih1 r ih ng k s n aw1");
  // Tests equal phones in neighbouring tokens, and in one token together with other words.
  EXPECT_EQ(
      phones_of(frontend, "x x-x.", {{0, 1, "", phones}, {2, 3, "", phones}, {4, 5, "", phones}}),
      "s ih1 r ih ng k s s ih1 r ih ng k s s ih1 r ih ng k s");
  const auto lexicon = Lexicon::parse("Syrinx {S IH1 R IH0 NG K S}\nnginx engine X").take();
  EXPECT_EQ(phones_of(frontend, "Syrinx", {}, lexicon), "s ih1 r ih ng k s");
  EXPECT_EQ(phones_of(frontend, "(nginx)", {}, lexicon), phones_of(frontend, "engine X"));
  // A saying wins over a lexicon.
  EXPECT_EQ(phones_of(frontend, "nginx", {{0, 5, "", phones}}, lexicon), "s ih1 r ih ng k s");
}

TEST(Frontend, SaysHeteronymsByTheirSentence) {
  const Frontend frontend;
  EXPECT_EQ(phones_of(frontend, "They record a record."), "dh ey1 r ih k ao1 r d ax r eh1 k er d");
}

TEST(Frontend, GivesAccents) {
  const Frontend frontend;
  EXPECT_EQ(phones_of(frontend, "Go *to* him."), "g ow1 t! ah1! hh ih1 m");
  EXPECT_EQ(phones_of(frontend, "I said NOW."), "ay1 s eh1 d n! aw1!");
  EXPECT_EQ(phones_of(frontend, "Go to him.").find('!'), std::string::npos);
}

TEST(Frontend, LiftsTheStressedSyllable) {
  const Frontend frontend;
  const auto lifts = [&](const std::string& text) {
    std::string out;
    const auto segments = frontend.read(split_sentences(text)[0]);
    for (const PhoneSymbol& symbol : segments[0].symbols) {
      if (symbol.lift > 0) out += concat(phone_names()[symbol.phone], " ", symbol.lift, " ");
    }
    return out;
  };
  EXPECT_EQ(lifts("A *banana* fell."), "b 60 ax 60 n 300 ae1 300 n 300 ax 120 ");
  // In an emphasis, content words are lifted. A function word is lifted only if it is alone.
  EXPECT_EQ(lifts("It is *the end* of it."), lifts("It is the *end* of it."));
  EXPECT_EQ(lifts("It is *the* dog."), "dh 300 ah1 300 ");
}

TEST(Frontend, PausesAsTheLayoutSays) {
  const auto pauses = [](const std::string& text) {
    std::vector<float> out;
    for (const Sentence& sentence : split_sentences(text)) out.push_back(sentence.pause_s);
    return out;
  };
  using List = std::vector<float>;
  EXPECT_EQ(pauses("One. Two.\n\nThree."), (List{0, 0.4f, 0}));
  EXPECT_EQ(pauses("Chapter One\n\nIt began."), (List{0.6f, 0}));
  EXPECT_EQ(pauses("# Title\nIt began."), (List{0.6f, 0}));
  EXPECT_EQ(pauses("\"Yes,\" he said.\n\n\"No.\""), (List{0.25f, 0}));
  EXPECT_EQ(pauses("- one\n- two\n- three"), (List{0.2f, 0.2f, 0}));
}

TEST(Frontend, BoundsItsSegments) {
  const Frontend frontend;
  std::string text = "1";
  for (int i = 0; i < 14; ++i) text += ",234";
  for (const Sentence& sentence : split_sentences(text + " " + text + " www.wwwwwwww.com.")) {
    for (const Segment& segment : frontend.read(sentence)) {
      EXPECT_LE(static_cast<int>(segment.symbols.size()), kMaxSymbols);
    }
  }
}

}  // namespace
}  // namespace syrinx::finch
