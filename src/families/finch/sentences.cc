#include "families/finch/sentences.h"

#include <algorithm>
#include <span>

#include "families/finch/phone_stream.h"
#include "text/english/reader.h"

namespace syrinx::finch {
namespace {

/// How many pieces the next sentence takes: all when they fit, else up to the last comma past a
/// third, else as many as fit.
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

/// A piece of a sentence that begins `offset` bytes into the request's text.
Piece moved(const english::Piece& piece, int64_t offset) {
  std::string text = piece.words;
  if (piece.mark != 0) text += piece.mark;
  return {std::move(text), piece.begin + offset, piece.end + offset};
}

/// One piece of text longer than a sentence may be: cut between its words, else anywhere.
void add_piece(std::vector<Piece>& pieces, const Piece& piece) {
  std::string_view rest = piece.text;
  while (rest.size() > kMaxSentenceChars / 2) {
    const size_t space = rest.rfind(' ', kMaxSentenceChars / 2);
    const size_t at = space == std::string_view::npos || space == 0 ? kMaxSentenceChars / 2 : space;
    pieces.push_back({std::string(rest.substr(0, at)), piece.begin, piece.end});
    rest.remove_prefix(rest[at] == ' ' ? at + 1 : at);
  }
  if (!rest.empty()) pieces.push_back({std::string(rest), piece.begin, piece.end});
}

/// Whether a word is read the same whatever stands beside it: small letters, a capital before
/// them at most, and marks.
bool is_plain(std::string_view word) {
  const size_t end = word.find_last_not_of(",;:!?");
  if (end == word.npos) return false;
  for (size_t i = 0; i <= end; ++i) {
    const bool small = (word[i] >= 'a' && word[i] <= 'z') || (i > 0 && i < end && word[i] == '\'');
    if (!small && !(i == 0 && word[i] >= 'A' && word[i] <= 'Z')) return false;
  }
  return true;
}

/// Bytes of a sentence's beginning that are read the same whatever follows. A plain word waits for
/// two more: the next may change its sound ("the apple"), and the one behind that tells whether a
/// phrase ends between them; a figure or an abbreviation for three ("3 May, 1990"). A word counts
/// once there is space behind it.
size_t certain_bytes(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  constexpr size_t kAfterPlain = 2, kAfterOthers = 3;
  struct Word {
    size_t end;
    bool plain;
  };
  std::vector<Word> words;
  for (size_t at = text.find_first_not_of(kSpace); at < text.size();) {
    const size_t end = text.find_first_of(kSpace, at);
    if (end == text.npos) break;
    words.push_back({end, is_plain(text.substr(at, end - at))});
    at = text.find_first_not_of(kSpace, end);
  }
  size_t certain = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i + (words[i].plain ? kAfterPlain : kAfterOthers) >= words.size()) break;
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

bool SentenceReader::next(std::deque<Sentence>& out) {
  if (waiting_.empty()) return false;
  const SentenceStream::Item item = std::move(waiting_.front());
  waiting_.pop_front();
  std::vector<Piece> pieces;
  const auto offset = static_cast<int64_t>(item.place.begin);
  for (const english::Piece& piece : english::read_sentence(item.text, !item.place.cut)) {
    add_piece(pieces, moved(piece, offset));
  }
  // A question word anywhere before makes the question one that falls.
  const std::string text = Sentence{pieces}.text();
  const bool rising = !asked_ && !item.place.cut && is_rising_question(text);
  asked_ = item.place.cut && (asked_ || !is_rising_question(text + " ?"));
  if (pieces.empty()) return true;
  for (std::span<const Piece> rest(pieces); !rest.empty();) {
    const size_t cut = cut_point(rest);
    out.push_back({{rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(cut)}});
    rest = rest.subspan(cut);
  }
  out.back().rising = rising;
  return true;
}

SentenceReader::Begun SentenceReader::begun() const {
  Begun begun;
  const std::string_view held = stream_.held();
  // Only the first half of what a sentence may hold: it may yet be cut behind that.
  const size_t certain = std::min(certain_bytes(held), kMaxSentenceChars / 2);
  if (certain == 0) return begun;
  const auto offset = static_cast<int64_t>(stream_.held_at());
  const size_t words = held.find_last_of(" \t\r\n");
  for (const english::Piece& piece : english::read_sentence(held.substr(0, words), false)) {
    begun.certain += static_cast<size_t>(piece.end) <= certain ? 1 : 0;
    begun.sentence.pieces.push_back(moved(piece, offset));
  }
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
