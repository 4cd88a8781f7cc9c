// The tune of a question. English rises at the end of a yes-no question ("Is it raining?", "You did
// what?", "It's late, isn't it?") and falls at the end of a wh-question ("Where is it?"); in an
// alternative question the first part rises and the last falls ("Tea | or coffee?"). Decided by
// words alone: question words, verbs that stand before their subject, commas. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace syrinx::finch {

struct Tune {
  bool rises = false;  ///< at its end
  /// Byte of the "or" before which it rises as well; npos: nowhere.
  size_t choice = std::string_view::npos;
};

/// Returns the tune of a sentence as it is read: in words, with its commas and its mark. A sentence
/// without a question mark at its end falls.
Tune tune_of(std::string_view sentence);

}  // namespace syrinx::finch
