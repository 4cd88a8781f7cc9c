// Finds tags of HTML, of other markup and of language models, and their meaning for speech. For
// text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string_view>

namespace syrinx::english {

enum class TagKind {
  kNone,    ///< not a tag
  kInline,  ///< a tag that is not spoken
  kBlock,   ///< not spoken, but makes a pause: "<br>", "<li>"
  kHidden,  ///< neither the tag nor its content is spoken: "<script>"
  kRaised,  ///< raised text: "<sup>"
  kLowered  ///< lowered text: "<sub>"
};

/// The tag at a position of a text.
struct Tag {
  TagKind kind = TagKind::kNone;
  size_t size = 0;       ///< number of characters of the tag; of a hidden tag also its content
  bool closing = false;  ///< whether the tag closes an element: "</p>"
};

/// Returns the tag at the '<' at `at`. "a <b and c> d" and "vector<int>" contain no tags.
Tag tag_at(std::string_view text, size_t at);

/// Returns the number of characters of a language model's control token, such as "[INST]", that
/// begins with the '[' at `at`. Returns 0 if no control token begins there.
size_t control_size(std::string_view text, size_t at);

}  // namespace syrinx::english
