// Cutting long texts into sentences to be spoken one after the other, whole or as text arrives.
// Offsets are bytes of the original text, which may hold anything; the pieces lie end to end and
// joined they are the text. Rules are for writing with European punctuation and for CJK.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Lengths are in characters (code points; a run of white space counts as one).
struct SentenceOptions {
  size_t max_chars = 400;  ///< at least 8; longer sentences are cut at clauses, spaces or anywhere
  size_t min_chars = 0;    ///< shorter sentences are joined with the next one of the paragraph
};

/// Bytes [begin, end) of a text; white space after a sentence belongs to it.
struct Sentence {
  size_t begin = 0, end = 0;
  bool ends_paragraph = false;  ///< an empty line follows
  bool cut = false;             ///< too long: the sentence goes on in the next piece
  bool hidden = false;          ///< a long script or style sheet of HTML, which is not read
};

/// Cuts a text into sentences, in order.
std::vector<Sentence> split_sentences(std::string_view text, const SentenceOptions& options = {});

/// Gives the same sentences for a text that arrives in pieces cut anywhere. One thread.
class SentenceStream {
 public:
  explicit SentenceStream(SentenceOptions options = {}) : options_(options) {}

  /// A sentence and its bytes; offsets count from the beginning of the whole text.
  struct Item {
    Sentence place;
    std::string text;
  };
  /// Appends the sentences whose end has become certain: one character of the next is there.
  void push(std::string_view text, std::vector<Item>& out);
  /// Appends the rest.
  void finish(std::vector<Item>& out);
  /// Returns the text after the last sentence: the beginning of one whose end is not certain.
  std::string_view held() const { return held_; }
  /// Bytes of the whole text before held().
  size_t held_at() const { return offset_; }

 private:
  void take(bool more, std::vector<Item>& out);
  SentenceOptions options_;
  std::string held_;
  size_t offset_ = 0, column_ = 0;  // of held_ in the whole text, and in its line
  size_t looked_at_ = 0;            // bytes of held_ that did not suffice
};

}  // namespace syrinx
