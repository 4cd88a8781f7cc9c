// Separates documents of SSML and plain text in text that arrives in pieces. A text that begins
// with <speak (text/ssml.h) is a document up to its </speak>. After that, and after finish(), a new
// text begins. The caller of push() limits the held bytes. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

class SsmlStream {
 public:
  /// A whole document, or plain text.
  struct Piece {
    std::string text;
    bool document = false;
  };
  /// `ssml` true: all text up to finish() is one document, whose <speak> may be missing if `bare`.
  /// False: all text is plain. Unset: the beginning of each text decides.
  explicit SsmlStream(std::optional<bool> ssml = {}, bool bare = false)
      : ssml_(ssml), bare_(bare) {}

  void push(std::string_view text, std::vector<Piece>& out);
  /// Ends the text. Returns an incomplete document unchanged; read_ssml() then reports the missing
  /// parts.
  void finish(std::vector<Piece>& out);

 private:
  enum class Kind { kUndecided, kPlain, kDocument, kRest };
  void take(bool last, std::vector<Piece>& out);
  Kind begun(bool last) const;
  bool find_end();

  std::optional<bool> ssml_;
  bool bare_ = false;
  Kind kind_ = Kind::kUndecided;
  std::string held_;    // undecided text, or the beginning of a document
  size_t scanned_ = 0;  // bytes of held_ in which no end was found
};

}  // namespace syrinx
