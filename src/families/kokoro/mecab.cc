#include "families/kokoro/mecab.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "families/kokoro/kana.h"
#include "io/program.h"

namespace syrinx::kokoro {
namespace {

constexpr char kLineEnd = '\x01';  // a line with only this character ends a sentence
constexpr size_t kUnidicFields = 17, kUnidicSound = 9, kIpadicFields = 9, kIpadicSound = 8;
constexpr const char* kInstall =
    "Japanese kanji are read by the program mecab and its dictionary (Debian: apt-get install "
    "mecab mecab-ipadic-utf8, 60 MB, or for the authors' readings mecab unidic-mecab, 5 GB)";

/// Splits a line of comma-separated values and removes quotes.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

Error other_output(std::string_view line) {
  return {ErrorCode::kUnsupported,
          concat("mecab's dictionary is unsupported: expected UniDic, IPADIC or NAIST-jdic in "
                 "UTF-8, got the line '",
                 line.substr(0, 100), "'; ", kInstall),
          "input"};
}

/// Reads a line of mecab's output: surface, 0 for a known word, type, features.
Result<Morpheme> morpheme_of(std::string_view line) {
  std::array<std::string_view, 3> head;
  std::string_view rest = line;
  for (std::string_view& part : head) {
    const size_t end = rest.find('\t');
    if (end == rest.npos) return other_output(line);
    part = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  Morpheme out;
  out.surface = utf32_of(head[0]);
  const bool known = head[1] == "0";
  int type = 0;
  std::from_chars(head[2].data(), head[2].data() + head[2].size(), type);
  const bool word = known || type == static_cast<int>(KanaType::kKatakana);
  out.type = word ? KanaType::kWord : static_cast<KanaType>(type);
  const std::vector<std::string> fields = fields_of(rest);
  std::string sound;
  if (fields.size() >= kUnidicFields) {
    sound = fields[kUnidicSound];
  } else if (fields.size() >= kIpadicFields) {
    sound = fields[kIpadicSound];
  } else if (known) {
    return other_output(line);
  }
  if (sound.empty() || sound == "*") sound = head[0];
  out.reading = hiragana(utf32_of(sound));
  return out;
}

/// Sets the byte ranges of a sentence's words. The sentence may have spaces, and characters that
/// the dictionary treats as spaces; no word contains these.
Status place(std::span<const Written> sentence, std::vector<Morpheme>& words) {
  size_t at = 0;
  for (Morpheme& word : words) {
    if (word.surface.empty()) return other_output("");
    while (at < sentence.size() && sentence[at].c != word.surface[0]) ++at;
    if (word.surface.size() > sentence.size() - at) {
      return other_output(utf8_of(word.surface));
    }
    for (size_t i = 0; i < word.surface.size(); ++i) {
      if (sentence[at + i].c != word.surface[i]) return other_output(utf8_of(word.surface));
    }
    word.begin = sentence[at].begin;
    word.end = sentence[at + word.surface.size() - 1].end;
    at += word.surface.size();
  }
  return ok_status();
}

}  // namespace

Result<std::vector<std::vector<Morpheme>>> mecab_words(
    std::span<const std::vector<Written>> sentences) {
  std::string input;
  for (const std::vector<Written>& sentence : sentences) input += utf8_of(sentence) + "\n";
  const std::string node = "%m\\t%s\\t%t\\t%H\\n";
  Result<std::string> printed =
      run_program({"mecab", "-O", "", "-b", "65536", "-F", node, "-U", node, "-E",
                   std::string(1, kLineEnd) + "\\n"},
                  input, {.max_output = size_t{32} << 20, .timeout_s = 30});
  if (!printed.ok()) {
    const bool missing = printed.error().code == ErrorCode::kNotFound;
    return Error{ErrorCode::kUnsupported,
                 missing ? concat(kInstall, "; it is not installed")
                         : concat(printed.error().message, "; ", kInstall),
                 "input"};
  }
  std::vector<std::vector<Morpheme>> out;
  std::vector<Morpheme> words;
  const std::string& text = printed.value();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.size() == 1 && line[0] == kLineEnd) {
      if (out.size() == sentences.size()) return other_output("");
      if (Status placed = place(sentences[out.size()], words); !placed.ok()) return placed.error();
      out.push_back(std::exchange(words, {}));
      continue;
    }
    Result<Morpheme> word = morpheme_of(line);
    if (!word.ok()) return word.error();
    words.push_back(word.take());
  }
  if (out.size() != sentences.size()) return other_output("");
  return out;
}

}  // namespace syrinx::kokoro
