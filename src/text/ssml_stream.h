// Documents of SSML and plain text in what arrives in pieces. A text is a document where it begins
// with <speak (text/ssml.h), up to its </speak>; what follows that, and what follows finish(), may
// be one again. What is held is bounded by the caller of push(). One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

class SsmlStream {
 public:
  /// A whole document, or some plain text.
  struct Piece {
    std::string text;
    bool document = false;
  };
  /// `ssml`: unset, a text is what it begins like; true, all of it up to finish() is a document,
  /// also where it lacks its <speak>, if `bare`; false, all is plain.
  explicit SsmlStream(std::optional<bool> ssml = {}, bool bare = false)
      : ssml_(ssml), bare_(bare) {}

  void push(std::string_view text, std::vector<Piece>& out);
  /// The text ends. A document that has no end comes as it is; reading it says what is missing.
  void finish(std::vector<Piece>& out);

 private:
  enum class Kind { kUndecided, kPlain, kDocument, kRest };
  void take(bool last, std::vector<Piece>& out);
  Kind begun(bool last) const;
  bool find_end();

  std::optional<bool> ssml_;
  bool bare_ = false;
  Kind kind_ = Kind::kUndecided;
  std::string held_;    // undecided, or the beginning of a document
  size_t scanned_ = 0;  // bytes of it in which its end is not
};

}  // namespace syrinx
