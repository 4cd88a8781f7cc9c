// The tune of a sentence that asks. English rises behind what wants a yes or a no ("Is it
// raining?", "You did what?", "It's late, isn't it?") and falls behind what wants to be told
// ("Where is it?"); of two things to choose from the first rises and the last falls ("Tea | or
// coffee?"). Decided by words alone: question words, verbs that stand before their subject, commas.
// Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace syrinx::finch {

struct Tune {
  bool rises = false;  ///< at its end
  /// Byte of the "or" before which it rises as well; npos: nowhere.
  size_t choice = std::string_view::npos;
};

/// Of a sentence as it is read, in words, with its commas and its mark. Anything without a question
/// mark at its end falls.
Tune tune_of(std::string_view sentence);

}  // namespace syrinx::finch
