// The tune of a question. English rises at the end of a yes-no question ("Is it raining?", "You did
// what?", "It's late, isn't it?") and falls at the end of a wh-question ("Where is it?"). In an
// alternative question the first part rises and the last falls ("Tea | or coffee?"). The tune
// follows from words alone: question words, verbs before their subject, commas. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace syrinx::finch {

struct Tune {
  bool rises = false;  ///< the pitch rises at its end
  /// Byte position of an "or" before which the pitch rises too; npos: there is none.
  size_t choice = std::string_view::npos;
};

/// Returns the tune of a sentence as it is spoken: in words, with its commas and its end mark. A
/// sentence without a question mark at its end falls.
Tune tune_of(std::string_view sentence);

}  // namespace syrinx::finch
