// Finds tags of HTML, of other markup and of language models, and their meaning for speech. For
// text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string_view>

namespace syrinx::english {

enum class TagKind {
  kNone,    ///< not a tag
  kInline,  ///< not spoken
  kBlock,   ///< not spoken, but a pause: "<br>", "<li>"
  kHidden,  ///< not spoken, together with its content: "<script>"
  kRaised,  ///< "<sup>"
  kLowered  ///< "<sub>"
};

/// The tag at a position of a text.
struct Tag {
  TagKind kind = TagKind::kNone;
  size_t size = 0;       ///< characters of the tag; a hidden tag's include its content
  bool closing = false;  ///< "</p>"
};

/// Returns the tag at the '<' at `at`. "a <b and c> d" and "vector<int>" contain no tags.
Tag tag_at(std::string_view text, size_t at);

/// Returns the number of characters of a language model's control token, such as "[INST]", that
/// begins with the '[' at `at`; 0: no control token.
size_t control_size(std::string_view text, size_t at);

}  // namespace syrinx::english
