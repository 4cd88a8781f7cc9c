#include "text/lexicon.h"

#include <gtest/gtest.h>

#include "base/fuzzing.h"
#include "text/english/reader.h"
#include "text/phones.h"

namespace syrinx {
namespace {

std::shared_ptr<const Lexicon> parse(std::string_view text) {
  auto lexicon = Lexicon::parse(text);
  EXPECT_TRUE(lexicon.ok()) << (lexicon.ok() ? "" : lexicon.error().message);
  return lexicon.ok() ? lexicon.take() : nullptr;
}
/// Returns "word=how" for each word found.
std::string found(const Lexicon& lexicon, std::string_view text) {
  std::vector<Saying> sayings;
  lexicon.find(text, sayings);
  std::string out;
  for (const Saying& saying : sayings) {
    const auto size = static_cast<size_t>(saying.end - saying.begin);
    out += std::string(text.substr(static_cast<size_t>(saying.begin), size)) + "=";
    out += saying.words + saying.phones.ipa + ";";
  }
  return out;
}

TEST(Lexicon, KnowsWholeWords) {
  const auto lexicon = parse(
      "\xef\xbb\xbf# names\r\nSyrinx\t/ˈsɪɹɪŋks/\r\n\r\nnginx engine X\nUS  U S\n"
      "Jean-Luc  {ZH AA1 N L UW0 K}\n");
  ASSERT_TRUE(lexicon);
  EXPECT_EQ(found(*lexicon, "Syrinx, syrinx (Syrinx)"), "Syrinx=ˈsɪɹɪŋks;Syrinx=ˈsɪɹɪŋks;");
  EXPECT_EQ(found(*lexicon, "NGINX nginxes Nginx."), "NGINX=engine X;Nginx=engine X;");
  EXPECT_EQ(found(*lexicon, "US us"), "US=U S;");
  EXPECT_EQ(found(*lexicon, "Jean-Luc's nginx-based nginx's"),
            "Jean-Luc's=ʒˈɑːnluːks;nginx=engine X;nginx's=engine X's;");
  EXPECT_EQ(found(*lexicon, "Syrinx’s"), "Syrinx’s=ˈsɪɹɪŋksɪz;");
  EXPECT_EQ(found(*lexicon, ""), "");
  EXPECT_EQ(found(*lexicon, "“nginx” nginx—fast nginx…"),
            "nginx=engine X;nginx=engine X;nginx=engine X;");
  const auto names = parse("O'Reilly a\nD’Arcy b\ncafé c");
  EXPECT_EQ(found(*names, "O’Reilly O'Reilly’s D'Arcy «café» cafés"),
            "O’Reilly=a;O'Reilly’s=a's;D'Arcy=b;café=c;");
}

TEST(Lexicon, FaultsNameLineAndSymbol) {
  const auto fault = [](const char* text) {
    auto lexicon = Lexicon::parse(text);
    return lexicon.ok() ? std::string() : lexicon.error().message;
  };
  EXPECT_EQ(fault("a /b/\nword /b§/"), "line 2: 'word': '§' in 'b§' is not a known IPA sound");
  EXPECT_EQ(fault("\n\nword {B QQ}"), "line 3: 'word': 'QQ' is not an ARPAbet phone");
  for (const char* bad : {"word", "word /a", "word {A", "-word a", "wo<rd a", "word a<b>",
                          "word //", "word {}", "w\xff a"}) {
    EXPECT_NE(fault(bad), "") << bad;
  }
}

TEST(Lexicon, TheFirstOfTwoIsAskedFirst) {
  const auto both = Lexicon::both(parse("a one"), parse("a two\nb three"));
  EXPECT_EQ(found(*both, "a b"), "a=one;b=three;");
  EXPECT_EQ(both->size(), 3u);
  EXPECT_FALSE(Lexicon::both(nullptr, nullptr));
}

TEST(Respeller, HoldsNoMoreThanAWord) {
  Respeller respeller(parse("nginx engine X"));
  EXPECT_EQ(respeller.push("今日は、nginx", false), "今日は、");
  EXPECT_EQ(respeller.push("—“", false), "engine X—“");
}

TEST(Respeller, MakesTheSameOfAnyPieces) {
  const auto lexicon = parse("nginx engine X\nSyrinx /ˈsɪɹɪŋks/");
  const std::string text = "The nginx's nginx, Syrinx nginx";
  for (size_t size = 1; size <= text.size(); ++size) {
    Respeller respeller(lexicon);
    std::string out;
    for (size_t at = 0; at < text.size(); at += size) {
      out += respeller.push(std::string_view(text).substr(at, size), false);
    }
    out += respeller.push("", true);
    EXPECT_EQ(out, "The engine X's engine X, Syrinx engine X") << size;
  }
}

TEST(Phones, AreReadInBothAlphabets) {
  using List = std::vector<std::string>;
  EXPECT_EQ(phones_of_ipa("ˈt͡ʃɜːt͡ʃ").value().arpabet, (List{"ch", "er1", "ch"}));
  EXPECT_EQ(phones_of_ipa("ˈbʌtn̩").value().arpabet, (List{"b", "ah1", "t", "ax0", "n"}));
  EXPECT_EQ(phones_of_ipa("kæt").value().arpabet, (List{"k", "ae1", "t"}));
  EXPECT_EQ(phones_of_ipa("ˌaʊtˈdɔː").value().arpabet, (List{"aw2", "t", "d", "ao1"}));
  EXPECT_EQ(phones_of_arpabet("b ah1 t el0").value().arpabet, (List{"b", "ah1", "t", "ax0", "l"}));
  EXPECT_EQ(phones_of_arpabet("HH-AH0-L-OW1").value().ipa, "həlˈoʊ");
  EXPECT_EQ(phones_of_arpabet("AH0 B AH1 V").value().arpabet, (List{"ax0", "b", "ah1", "v"}));
  EXPECT_EQ(phones_of_ipa("ɡəʊ").value().arpabet, phones_of_arpabet("G OW0").value().arpabet);
  for (const char* bad : {"", "ˈ", "t1", "ж"}) EXPECT_FALSE(phones_of_ipa(bad).ok()) << bad;
  for (const char* bad : {"", "T1", "XX", "T AH9"})
    EXPECT_FALSE(phones_of_arpabet(bad).ok()) << bad;
  EXPECT_FALSE(phones_of_ipa(std::string(1000, 'a')).ok());
}

TEST(EnglishSayings, AreReadInsteadOfWhatIsWritten) {
  const auto say = [](std::string_view text, const std::vector<Saying>& sayings) {
    std::string out;
    for (const english::Piece& piece : english::read_sentence(text, true, sayings)) {
      out += (out.empty() ? "" : "|") + piece.words;
      if (!piece.phones.empty()) out += "/" + piece.phones.ipa + "/";
      if (piece.strong) out += "!";
      if (piece.mark) out += piece.mark;
    }
    return out;
  };
  const Phones x = phones_of_ipa("ks").ok() ? phones_of_ipa("ɪks").value() : Phones{};
  EXPECT_EQ(say("The X-1, or so.", {{4, 7, "", phones_of_ipa("ɪks").value()}}),
            "The|word/ɪks/,|or|so.");
  EXPECT_EQ(say("(nginx-based)", {{1, 6, "engine X"}}), "engine X|based.");
  EXPECT_EQ(say("It is so.", {{3, 8, "", {}, true}}), "It|is!|so!.");
  EXPECT_EQ(say("It *is* so.", {}), "It|is!|so.");
  EXPECT_EQ(say("2 * 3 * 4", {}), "two|times|three|times|four.");
  EXPECT_EQ(say("I NEVER said NASA.", {}), "I|never!|said|nasa.");
  EXPECT_EQ(say("NEVER SAY THAT.", {}), "never|say|that.");
}

/// A file of any bytes yields a lexicon or a fault with its line. Found words are in order, within
/// the text, and do not overlap. A text in pieces is respelled like the whole text.
TEST(LexiconFuzz, FilesAndTexts) {
  const std::string file =
      "# names\r\nSyrinx\t/\u02c8s\u026a\u0279\u026a\u014bks/\r\n\nnginx engine X\nUS  U S\n"
      "Jean-Luc  {ZH AA1 N L UW0 K}\n";
  Mutator files({file, "a one\nb two\n", "w {W IH1 N}\n"},
                {"/", "{", "}", "\n", "\r\n", " ", "\t", "#", "AH0", "\u02c8", "\u0259", "\u02d0",
                 "\xff", "\xed\xa0\x80", "'", "-", "\xef\xbb\xbf", "<"});
  Mutator texts({"Syrinx, syrinx's (Syrinx) NGINX nginxes Jean-Luc's nginx-based US us a b w.",
                 "a\u2019s b\u00e9 \u00fcber"},
                {"Syrinx", "nginx", "'s", "\u2019s", " ", "-", "US", "\xff", "\xe2\x80", "."});
  const int inputs = fuzz_inputs(8000);
  int parsed = 0;
  size_t sayings_found = 0;
  std::shared_ptr<const Lexicon> lexicon = Lexicon::parse(file).take();
  for (int i = 0; i < inputs && !testing::Test::HasFailure(); ++i) {
    const std::string bytes = files.next();
    auto result = Lexicon::parse(bytes);
    if (result) {
      lexicon = result.take();
      ++parsed;
    } else {
      EXPECT_TRUE(result.error().message.starts_with("line ")) << result.error().message;
    }
    const std::string text = texts.next();
    std::vector<Saying> sayings;
    lexicon->find(text, sayings);
    int64_t end = 0;
    for (const Saying& saying : sayings) {
      EXPECT_TRUE(end <= saying.begin && saying.begin < saying.end &&
                  saying.end <= std::ssize(text))
          << text;
      EXPECT_NE(saying.words.empty(), saying.phones.empty()) << text;
      end = saying.end;
    }
    sayings_found += sayings.size();
    Respeller at_once(lexicon), in_pieces(lexicon);
    const std::string whole = at_once.push(text, true);
    std::string cut;
    for (const std::string& piece : texts.cut(text)) cut += in_pieces.push(piece, false);
    cut += in_pieces.push("", true);
    EXPECT_EQ(cut, whole) << text;
  }
  EXPECT_GT(parsed, inputs / 4);
  EXPECT_GT(sayings_found, static_cast<size_t>(inputs));
}

}  // namespace
}  // namespace syrinx
