#include "families/finch/sentences.h"

#include <algorithm>
#include <span>
#include <utility>

#include "families/finch/questions.h"
#include "text/english/heteronyms.h"
#include "text/english/reader.h"
#include "text/layout.h"

namespace syrinx::finch {
namespace {

/// Returns the number of pieces for the next sentence: all if they fit, or else those up to the
/// last comma, semicolon or colon after a third of the limit, or else as many as fit.
size_t cut_point(std::span<const Piece> pieces) {
  size_t chars = 0, fits = 0, comma = 0;
  for (const Piece& piece : pieces) {
    chars += piece.text.size() + (fits > 0 ? 1 : 0);
    if (chars > kMaxSentenceChars) return comma > 0 ? comma : std::max<size_t>(fits, 1);
    ++fits;
    const char last = piece.text.back();
    if ((last == ',' || last == ';' || last == ':') && chars > kMaxSentenceChars / 3) comma = fits;
  }
  return pieces.size();
}

/// Returns a piece with its bytes shifted by `offset`, the position of its sentence in the text of
/// the request.
Piece moved(const english::Piece& piece, int64_t offset) {
  std::string text = piece.words;
  if (piece.mark != 0) text += piece.mark;
  return {std::move(text), piece.begin + offset, piece.end + offset, piece.phones, piece.strong};
}

constexpr size_t kMostRemembered = 1000;  // bytes that are kept of a sentence's earlier parts
constexpr size_t kAfterPlain = 2;         // words that decide how a plain word before them is read

/// Adds a piece. Cuts it, between words if possible, into texts of at most half a sentence's limit.
void add_piece(std::vector<Piece>& pieces, const Piece& piece) {
  std::string_view rest = piece.text;
  while (rest.size() > kMaxSentenceChars / 2) {
    const size_t space = rest.rfind(' ', kMaxSentenceChars / 2);
    const size_t at = space == std::string_view::npos || space == 0 ? kMaxSentenceChars / 2 : space;
    pieces.push_back({std::string(rest.substr(0, at)), piece.begin, piece.end, {}, piece.strong});
    rest.remove_prefix(rest[at] == ' ' ? at + 1 : at);
  }
  if (rest.size() == piece.text.size()) {
    pieces.push_back(piece);
  } else if (!rest.empty()) {
    pieces.push_back({std::string(rest), piece.begin, piece.end, {}, piece.strong});
  }
}

/// Returns whether a word is read the same way whatever its neighbours are: it has lower-case
/// letters and marks, with at most a capital at the beginning.
bool is_plain(std::string_view word) {
  const size_t end = word.find_last_not_of(",;:!?");
  if (end == word.npos) return false;
  for (size_t i = 0; i <= end; ++i) {
    const bool small = (word[i] >= 'a' && word[i] <= 'z') || (i > 0 && i < end && word[i] == '\'');
    if (!small && !(i == 0 && word[i] >= 'A' && word[i] <= 'Z')) return false;
  }
  return true;
}

bool in_capitals(std::string_view word) {
  const auto is = [](char least, char most) {
    return [=](char c) { return c >= least && c <= most; };
  };
  return std::count_if(word.begin(), word.end(), is('A', 'Z')) > 1 &&
         std::none_of(word.begin(), word.end(), is('a', 'z'));
}

/// Returns whether a word begins with a star whose closing star may still arrive.
bool opens_emphasis(std::string_view text, size_t word) {
  constexpr size_t kMostEmphasised = 160;              // bytes; text/english searches no further
  const size_t star = text.substr(word, 4).find('*');  // the star may follow a quote or a bracket
  if (star == text.npos) return false;
  const std::string_view rest = text.substr(word + star + 1);
  return !rest.empty() && rest.front() != ' ' && rest.find('*') == rest.npos &&
         rest.size() < kMostEmphasised;
}

/// Returns whether a tag, a formula or an arrow may begin in a word. The text that follows then
/// decides how the word is read.
bool opens_markup(std::string_view word) {
  if (word.find_first_of("<>\\") != word.npos || word.find("\u2192") != word.npos) return true;
  const size_t dollar = word.find('$');
  if (dollar == word.npos) return false;
  return word.find_first_not_of("$0123456789.,-kKmMbn;:!?)/", dollar) != word.npos ||
         word.size() == dollar + 1;
}

/// Returns the number of bytes at the start of a sentence whose reading later text cannot change. A
/// plain word needs two more words: the first may change its sound ("the apple"), and the second
/// decides whether a phrase ends between them. A figure or an abbreviation needs three ("3 May,
/// 1990"). A word in capitals needs five, which decide whether it is emphasised. A word is complete
/// once a space follows it.
size_t certain_bytes(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  constexpr size_t kAfterOthers = 3, kAfterCapitals = 5;
  struct Word {
    size_t end, after;
  };
  text = text.substr(0, text.find_last_of(kSpace) + 1);
  std::vector<Word> words;
  for (size_t at = text.find_first_not_of(kSpace); at < text.size();) {
    const size_t end = text.find_first_of(kSpace, at);
    if (end == text.npos) break;
    const std::string_view word = text.substr(at, end - at);
    if (opens_emphasis(text, at)) break;
    if (opens_markup(word)) break;
    words.push_back({end, is_plain(word)      ? kAfterPlain
                          : in_capitals(word) ? kAfterCapitals
                                              : kAfterOthers});
    at = text.find_first_not_of(kSpace, end);
  }
  size_t certain = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i + words[i].after >= words.size()) break;
    certain = words[i].end;
  }
  return certain;
}

}  // namespace

std::string Sentence::text() const {
  std::string out;
  for (const Piece& piece : pieces) {
    if (!out.empty()) out += ' ';
    out += piece.text;
  }
  return out;
}

void SentenceReader::push(std::string_view text, bool last) {
  std::vector<SentenceStream::Item> items;
  stream_.push(text, items);
  if (last) stream_.finish(items);
  for (SentenceStream::Item& item : items) waiting_.push_back(std::move(item));
}

/// Reads the words of a part of the text; the part begins at byte `offset`.
std::vector<Piece> SentenceReader::read(std::string_view text, int64_t offset, bool whole) const {
  const std::vector<Saying> here = sayings_in(text, offset, sayings_, lexicon_.get());
  std::vector<Piece> pieces;
  std::vector<english::Piece> words = english::read_sentence(text, whole, here);
  english::say_heteronyms(words);
  for (const english::Piece& piece : words) pieces.push_back(moved(piece, offset));
  if (by_word_) {  // a sentence may continue after a quoted question
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      if (pieces[i].text.back() == '?') pieces[i].text.back() = ',';
    }
  }
  return pieces;
}

bool SentenceReader::next(std::deque<Sentence>& out) {
  if (waiting_.empty()) return false;
  const SentenceStream::Item item = std::move(waiting_.front());
  waiting_.pop_front();
  std::vector<Piece> pieces;
  const auto offset = static_cast<int64_t>(item.place.begin);
  for (const Piece& piece : read(item.text, offset, !item.place.cut)) add_piece(pieces, piece);
  const std::vector<Run> runs = runs_of(pieces, item.place.cut);
  if (pieces.empty()) return true;
  size_t begin = 0;
  for (const Run& run : runs) {
    std::span<const Piece> rest = std::span<const Piece>(pieces).subspan(begin, run.end - begin);
    for (begin = run.end; !rest.empty();) {
      const size_t cut = cut_point(rest);
      out.push_back({{rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(cut)}});
      rest = rest.subspan(cut);
    }
    out.back().rising = run.rises;
  }
  if (!item.place.cut) out.back().pause_s = layout_pause_s(item.text, item.place.ends_paragraph);
  return true;
}

/// Returns the runs of a sentence. A sentence has several runs if a question ends within it ("Where
/// is it?" she asked), or if the pitch rises after the first of two alternatives. `cut`: the
/// sentence continues in another part.
std::vector<SentenceReader::Run> SentenceReader::runs_of(std::span<const Piece> pieces, bool cut) {
  std::vector<Run> runs;
  std::string text = std::exchange(earlier_, {});
  size_t earlier = text.size(), first = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!text.empty()) text += ' ';
    text += pieces[i].text;
    const bool last = i + 1 == pieces.size();
    if (last ? cut : by_word_ || pieces[i].text.back() != '?') continue;
    const Tune tune = tune_of(text);
    // Finds the piece of this run that begins with the "or" of a choice.
    size_t at = earlier > 0 ? earlier + 1 : 0;
    for (size_t k = first; k <= i && tune.choice != text.npos && !by_word_; ++k) {
      if (at == tune.choice && k > first) runs.push_back({k, true});
      at += pieces[k].text.size() + 1;
    }
    runs.push_back({i + 1, tune.rises});
    text.clear();
    earlier = 0;
    first = i + 1;
  }
  if (cut) {
    runs.push_back({pieces.size(), false});
    earlier_ = text.substr(0, kMostRemembered);
  }
  return runs;
}

SentenceReader::Begun SentenceReader::begun() const {
  Begun begun;
  const std::string_view held = stream_.held();
  // At most half of a sentence's limit, because the sentence may be cut after these bytes.
  const size_t certain = std::min(certain_bytes(held), kMaxSentenceChars / 2);
  if (certain == 0) return begun;
  const auto offset = static_cast<int64_t>(stream_.held_at());
  const size_t words = held.find_last_of(" \t\r\n");
  for (Piece& piece : read(held.substr(0, words), offset, false)) {
    begun.certain += static_cast<size_t>(piece.end - offset) <= certain ? 1 : 0;
    begun.sentence.pieces.push_back(std::move(piece));
  }
  // A sign or a word of another script is not spoken, so a piece may wait for a later word.
  const size_t pieces = begun.sentence.pieces.size();
  begun.certain = std::min(begun.certain, pieces - std::min(pieces, kAfterPlain));
  return begun;
}

std::deque<Sentence> split_sentences(std::string_view utf8) {
  std::deque<Sentence> sentences;
  SentenceReader reader;
  reader.push(utf8, true);
  while (reader.next(sentences)) {
  }
  return sentences;
}

}  // namespace syrinx::finch
