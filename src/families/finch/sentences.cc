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
    std::string text = piece.words;
    if (piece.mark != 0) text += piece.mark;
    add_piece(pieces, {std::move(text), piece.begin + offset, piece.end + offset});
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

std::deque<Sentence> split_sentences(std::string_view utf8) {
  std::deque<Sentence> sentences;
  SentenceReader reader;
  reader.push(utf8, true);
  while (reader.next(sentences)) {
  }
  return sentences;
}

}  // namespace syrinx::finch
