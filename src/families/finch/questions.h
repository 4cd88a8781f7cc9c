// The tune of a question. In English the pitch rises at the end of a yes-no question ("Is it
// raining?", "You did what?", "It's late, isn't it?") and falls after a wh-question ("Where is
// it?"). In an alternative question it rises after the first part, then falls ("Tea | or coffee?").
// The tune follows from words alone: question words, verbs before subjects, commas. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace syrinx::finch {

struct Tune {
  bool rises = false;  ///< whether the pitch rises at the end
  /// Byte offset of an "or" before which the pitch rises, too. npos: the sentence has none.
  size_t choice = std::string_view::npos;
};

/// Returns the tune of a sentence in spoken words, with commas and end mark. The pitch of a
/// sentence that does not end in a question mark falls.
Tune tune_of(std::string_view sentence);

}  // namespace syrinx::finch
