// Cuts long texts into sentences, which are spoken one after another. Works on whole texts and on
// text that arrives in pieces. Offsets are bytes of the original text, which may contain any bytes.
// The sentences together are the whole text. The rules apply to European punctuation and CJK.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Lengths in characters (code points; a run of white space counts as one).
struct SentenceOptions {
  size_t max_chars = 400;  ///< at least 8; a longer sentence is cut at clauses, spaces or anywhere
  size_t min_chars = 0;    ///< shorter sentences are joined with the next sentence of the paragraph
};

/// Bytes [begin, end) of a text; the white space after a sentence belongs to it.
struct Sentence {
  size_t begin = 0, end = 0;
  bool ends_paragraph = false;  ///< an empty line follows
  bool cut = false;             ///< the sentence is too long and continues in the next piece
  bool hidden = false;          ///< a long script or style sheet of HTML, which is not spoken
};

/// Cuts a text into sentences, in order.
std::vector<Sentence> split_sentences(std::string_view text, const SentenceOptions& options = {});

/// Cuts a text that arrives in pieces into the sentences of split_sentences(). Not thread-safe.
class SentenceStream {
 public:
  explicit SentenceStream(SentenceOptions options = {}) : options_(options) {}

  /// A sentence and its text; offsets count from the beginning of the whole text.
  struct Item {
    Sentence place;
    std::string text;
  };
  /// Appends the sentences whose end is certain, because the next sentence has begun.
  void push(std::string_view text, std::vector<Item>& out);
  /// Appends the rest of the text.
  void finish(std::vector<Item>& out);
  /// Returns the text after the last appended sentence, which waits until its end is certain.
  std::string_view held() const { return held_; }
  /// Returns the number of bytes of the whole text before held().
  size_t held_at() const { return offset_; }

 private:
  void take(bool more, std::vector<Item>& out);
  SentenceOptions options_;
  std::string held_;
  size_t offset_ = 0, column_ = 0;  // bytes before held_ in the whole text, and in its line
  size_t looked_at_ = 0;            // size of held_ after the last search for an end
};

}  // namespace syrinx
