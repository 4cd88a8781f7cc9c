// Tests the pronunciations of heteronyms by the cases of ../golden/heteronyms.tsv.
#include "text/english/heteronyms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "text/english/chars.h"
#include "text/phones.h"

namespace syrinx::english {
namespace {

/// A sentence without the notes of the test file, and the phones that the notes give, in order.
struct Case {
  std::string sentence;
  std::vector<std::pair<std::string, Phones>> asked;
};

Case parse(const std::string& line) {
  Case out;
  for (const std::string_view written : split(line, ' ')) {
    const size_t slash = written.find('/');
    std::string word(written);
    if (slash != written.npos) {
      std::string small = lower(written.substr(0, slash));
      const auto find = [&](const std::string& name) {
        const auto all = heteronyms();
        return std::find_if(all.begin(), all.end(),
                            [&](const Heteronym& h) { return h.word == name; });
      };
      auto one = find(small);
      const bool plural = one == heteronyms().end();
      if (plural) one = find(small.substr(0, small.size() - 1));
      EXPECT_NE(one, heteronyms().end()) << small;
      const char kind = written[slash + 1];
      const std::string_view phones = kind == 'N'   ? one->noun
                                      : kind == 'V' ? one->verb
                                      : kind == 'A' ? one->adjective
                                                    : one->other;
      Phones asked = phones_of_arpabet(phones).value();
      out.asked.emplace_back(small, plural ? possessive(asked) : asked);
      word = std::string(written.substr(0, slash)) + std::string(written.substr(slash + 2));
    }
    out.sentence += (out.sentence.empty() ? "" : " ") + word;
  }
  return out;
}

TEST(Heteronyms, AreSaidAsTheTableSays) {
  std::ifstream table(SYRINX_SOURCE_DIR "/src/text/golden/heteronyms.tsv");
  ASSERT_TRUE(table.is_open());
  int right = 0, all = 0;
  std::string wrong;
  std::set<std::string> seen;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    const Case one = parse(line);
    std::vector<Piece> pieces = read_sentence(one.sentence);
    say_heteronyms(pieces);
    size_t next = 0;
    for (const Piece& piece : pieces) {
      if (next == one.asked.size() || lower(piece.words) != one.asked[next].first) continue;
      ++all;
      seen.insert(one.asked[next].first);
      const bool same = piece.phones.arpabet == one.asked[next].second.arpabet;
      right += same ? 1 : 0;
      if (!same) wrong += "  " + line + "\n";
      ++next;
    }
    EXPECT_EQ(next, one.asked.size()) << line;
  }
  std::printf("%d of %d heteronyms, %zu words; wrong:\n%s", right, all, seen.size(), wrong.c_str());
  EXPECT_GE(all, 300);
  EXPECT_GE(seen.size(), 60u);
  EXPECT_GE(right, 0.97 * all);
}

TEST(Heteronyms, GivenPhonesStay) {
  const Phones asked = phones_of_arpabet("B AA1").value();
  std::vector<Piece> pieces = {{.words = "record", .phones = asked}, {.words = "record player"}};
  say_heteronyms(pieces);
  EXPECT_EQ(pieces[0].phones.arpabet, asked.arpabet);
  EXPECT_TRUE(pieces[1].phones.empty());
}

TEST(Heteronyms, PluralsHaveTheirEnding) {
  std::vector<Piece> one = {{.words = "the"}, {.words = "record"}, {.words = "is"}};
  std::vector<Piece> many = {{.words = "the"}, {.words = "records"}, {.words = "are"}};
  say_heteronyms(one);
  say_heteronyms(many);
  ASSERT_FALSE(one[1].phones.empty());
  EXPECT_EQ(many[1].phones.arpabet, possessive(one[1].phones).arpabet);
  EXPECT_NE(many[1].phones.arpabet, one[1].phones.arpabet);
}

/// Text that arrives word by word is read like the whole text, with only two words of lookahead.
TEST(Heteronyms, LookTwoWordsAheadAtMost) {
  for (const char* word : {"read", "live", "tear", "bass", "lead", "wound", "close", "present"}) {
    for (const char* rest : {"the big", "in a", "it yesterday", "to them", "of it"}) {
      const std::string begin = std::string("Then they ") + word + " " + rest + " ";
      std::vector<Piece> first = read_sentence(begin + "fish caught last lake pipes", false);
      std::vector<Piece> second = read_sentence(begin + "show, his", false);
      say_heteronyms(first);
      say_heteronyms(second);
      EXPECT_EQ(first[2].phones.arpabet, second[2].phones.arpabet) << begin;
    }
  }
}

}  // namespace
}  // namespace syrinx::english
