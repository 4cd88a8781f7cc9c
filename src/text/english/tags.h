// Tags of HTML, of other markup and of language models: where they end, and what they mean for a
// voice. For text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string_view>

namespace syrinx::english {

enum class TagKind {
  kNone,    ///< no tag
  kInline,  ///< not said
  kBlock,   ///< not said, a pause: "<br>", "<li>"
  kHidden,  ///< not said with all that it holds: "<script>"
  kRaised,  ///< "<sup>"
  kLowered  ///< "<sub>"
};

/// A tag as it begins at a place of the text.
struct Tag {
  TagKind kind = TagKind::kNone;
  size_t size = 0;       ///< characters; of a hidden one with its contents
  bool closing = false;  ///< "</p>"
};

/// The tag at `at`, where a '<' stands. "a <b and c> d" and "vector<int>" hold none.
Tag tag_at(std::string_view text, size_t at);

/// Characters of a control token of a language model at `at`, where a '[' stands: "[INST]"; 0 for
/// none.
size_t control_size(std::string_view text, size_t at);

}  // namespace syrinx::english
