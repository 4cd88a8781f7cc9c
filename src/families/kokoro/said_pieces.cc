#include "families/kokoro/said_pieces.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace syrinx::kokoro {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_blank(std::string_view text) { return text.find_first_not_of(kBlanks) == text.npos; }

}  // namespace

std::vector<SaidPiece> said_pieces(std::span<const SentenceStream::Item> sentences,
                                   const std::vector<Saying>& sayings, const Lexicon* lexicon,
                                   std::string_view voice) {
  std::vector<SaidPiece> out;
  for (size_t i = 0; i < sentences.size(); ++i) {
    const SentenceStream::Item& sentence = sentences[i];
    const std::string_view text = sentence.text;
    bool space = false;
    const auto add = [&](size_t begin, size_t end, std::string words) -> SaidPiece& {
      SaidPiece& piece = out.emplace_back();
      piece.sentence = i;
      piece.item.place = {.begin = sentence.place.begin + begin, .end = sentence.place.begin + end};
      piece.item.text = std::move(words);
      piece.space = space || kBlanks.find(text[begin]) != kBlanks.npos;
      space = kBlanks.find(text[end - 1]) != kBlanks.npos;
      return piece;
    };
    const auto add_plain = [&](size_t begin, size_t end) {
      if (begin == end) return;
      if (is_blank(text.substr(begin, end - begin))) {
        space = true;
      } else {
        add(begin, end, std::string(text.substr(begin, end - begin)));
      }
    };
    const auto offset = static_cast<int64_t>(sentence.place.begin);
    size_t at = 0;
    for (Saying& each : sayings_in(text, offset, sayings, lexicon)) {
      const auto begin = static_cast<size_t>(each.begin), end = static_cast<size_t>(each.end);
      const bool says = !each.words.empty() || !each.phones.ipa.empty();
      if (begin < at || end <= begin || end > text.size() || !says) continue;
      add_plain(at, begin);
      SaidPiece& piece = add(begin, end, each.words);
      if (each.phones.ipa.empty()) {
        piece.reads_other_words = true;
      } else {
        piece.phonemes = misaki_of_espeak(each.phones.ipa, voice);
      }
      at = end;
    }
    add_plain(at, text.size());
  }
  return out;
}

std::vector<std::vector<Spoken>> joined_pieces(std::span<const SaidPiece> pieces,
                                               std::vector<std::vector<Spoken>> read,
                                               size_t count) {
  std::vector<std::vector<Spoken>> out(count);
  size_t next = 0;
  for (const SaidPiece& piece : pieces) {
    const auto begin = static_cast<int64_t>(piece.item.place.begin);
    const auto end = static_cast<int64_t>(piece.item.place.end);
    std::vector<Spoken> words;
    if (piece.phonemes.empty()) {
      SYRINX_CHECK(next < read.size(), "[kokoro] ", next);
      words = std::move(read[next++]);
    } else {
      words.push_back({piece.phonemes, begin, end, true, false});
    }
    if (words.empty()) continue;
    std::vector<Spoken>& sentence = out[piece.sentence];
    words.front().space = piece.space && !sentence.empty();
    for (Spoken& word : words) {
      if (piece.reads_other_words) word.begin = begin, word.end = end;
      sentence.push_back(std::move(word));
    }
  }
  return out;
}

}  // namespace syrinx::kokoro
