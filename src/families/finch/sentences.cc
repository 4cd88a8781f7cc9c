#include "families/finch/sentences.h"

#include <algorithm>
#include <span>

#include "families/finch/phone_stream.h"
#include "text/english/heteronyms.h"
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
  return {std::move(text), piece.begin + offset, piece.end + offset, piece.phones, piece.strong};
}

// Seconds of silence behind a sentence, beyond the fifth of one that the voice makes behind any.
constexpr float kHeadingPause = 0.6f, kParagraphPause = 0.4f, kSpeechPause = 0.25f,
                kItemPause = 0.2f;

bool has_any_of(std::string_view text, std::initializer_list<std::string_view> signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [text](std::string_view sign) { return text.find(sign) != text.npos; });
}

/// "- ", "* ", "3. " at the beginning of a line.
bool is_item(std::string_view line) {
  for (const std::string_view mark : {"- ", "* ", "+ ", "\xe2\x80\xa2 "}) {
    if (line.starts_with(mark)) return true;
  }
  const size_t digits = line.find_first_not_of("0123456789");
  return digits != line.npos && digits > 0 && digits < 4 && line.size() > digits + 1 &&
         (line[digits] == '.' || line[digits] == ')') && line[digits + 1] == ' ';
}

/// The pause that the layout asks for behind a sentence.
float pause_behind(std::string_view text, bool ends_paragraph) {
  constexpr size_t kLongestHeading = 90;
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return 0;
  const bool ends_line = text.find('\n', end) != text.npos;
  std::string_view line = text.substr(0, end + 1);
  line.remove_prefix(line.find_first_not_of(" \t\r\n"));
  if (line.starts_with("#") && ends_line) return kHeadingPause;
  if (is_item(line) && ends_line) return kItemPause;
  if (!ends_paragraph) return 0;
  const bool unfinished = std::string_view(".!?:;,\"')]}").find(line.back()) == line.npos &&
                          static_cast<unsigned char>(line.back()) < 0x80;
  const bool one_line = line.find('\n') == line.npos;
  if (unfinished && one_line && line.size() <= kLongestHeading) return kHeadingPause;
  return has_any_of(line, {"\"", "\xe2\x80\x9c", "\xe2\x80\x9d"}) ? kSpeechPause : kParagraphPause;
}

/// One piece of text longer than a sentence may be: cut between its words, else anywhere.
void add_piece(std::vector<Piece>& pieces, const Piece& piece) {
  std::string_view rest = piece.text;
  while (rest.size() > kMaxSentenceChars / 2) {
    const size_t space = rest.rfind(' ', kMaxSentenceChars / 2);
    const size_t at = space == std::string_view::npos || space == 0 ? kMaxSentenceChars / 2 : space;
    pieces.push_back(
        {std::string(rest.substr(0, at)), piece.begin, piece.end, {}, piece.strong});
    rest.remove_prefix(rest[at] == ' ' ? at + 1 : at);
  }
  if (rest.size() == piece.text.size()) {
    pieces.push_back(piece);
  } else if (!rest.empty()) {
    pieces.push_back({std::string(rest), piece.begin, piece.end, {}, piece.strong});
  }
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

/// The words of a part of the text that begins at `offset`.
std::vector<Piece> SentenceReader::read(std::string_view text, int64_t offset, bool whole) const {
  std::vector<Saying> known;
  if (lexicon_) lexicon_->find(text, known);
  const std::vector<Saying> here = joined(
      within(sayings_, offset, static_cast<int64_t>(text.size())), std::move(known));
  std::vector<Piece> pieces;
  std::vector<english::Piece> words = english::read_sentence(text, whole, here);
  english::say_heteronyms(words);
  for (const english::Piece& piece : words) pieces.push_back(moved(piece, offset));
  return pieces;
}

bool SentenceReader::next(std::deque<Sentence>& out) {
  if (waiting_.empty()) return false;
  const SentenceStream::Item item = std::move(waiting_.front());
  waiting_.pop_front();
  std::vector<Piece> pieces;
  const auto offset = static_cast<int64_t>(item.place.begin);
  for (const Piece& piece : read(item.text, offset, !item.place.cut)) add_piece(pieces, piece);
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
  if (!item.place.cut) out.back().pause_s = pause_behind(item.text, item.place.ends_paragraph);
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
  for (Piece& piece : read(held.substr(0, words), offset, false)) {
    begun.certain += static_cast<size_t>(piece.end - offset) <= certain ? 1 : 0;
    begun.sentence.pieces.push_back(std::move(piece));
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
