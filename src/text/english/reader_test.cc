// What is said, case by case: ../golden/english.tsv.
#include "text/english/reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "text/sentences.h"

namespace syrinx::english {
namespace {

/// Words without marks; capitals only where a letter's name stands.
std::string words_of(std::string_view text) {
  std::string out;
  for (const Sentence& sentence : split_sentences(text)) {
    const auto part = text.substr(sentence.begin, sentence.end - sentence.begin);
    for (const Piece& piece : read_sentence(part)) {
      out += (out.empty() ? "" : " ") + piece.words;
    }
  }
  std::string plain;
  for (size_t at = 0; at < out.size();) {
    const size_t end = std::min(out.find(' ', at), out.size());
    std::string word = out.substr(at, end - at);
    const bool letter =
        word.size() == 1 || word.starts_with("I'") || (word.size() == 3 && word.ends_with("'s"));
    for (size_t i = letter ? 1 : 0; i < word.size(); ++i) {
      if (word[i] >= 'A' && word[i] <= 'Z') word[i] = static_cast<char>(word[i] + 32);
    }
    plain += (plain.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return plain;
}

std::string unescaped(std::string text) {
  for (size_t at; (at = text.find("\\n")) != text.npos;) text.replace(at, 2, "\n");
  return text;
}

TEST(English, ReadsAsTheTableSays) {
  std::ifstream table(SYRINX_SOURCE_DIR "/src/text/golden/english.tsv");
  ASSERT_TRUE(table.is_open());
  int cases = 0, number = 0;
  for (std::string line; std::getline(table, line);) {
    ++number;
    const size_t tab = line.find('\t');
    if (tab == line.npos) continue;  // a comment
    ++cases;
    const std::string text = unescaped(line.substr(0, tab));
    EXPECT_EQ(words_of(text), line.substr(tab + 1)) << "line " << number << ": " << text;
  }
  EXPECT_GE(cases, 300);
}

}  // namespace
}  // namespace syrinx::english
