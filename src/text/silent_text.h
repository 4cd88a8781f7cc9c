// What remains of a text in which a voice finds nothing to speak. The rule of all interfaces is in
// the engine's contract (I16). Free functions; any thread.
#pragma once

#include <string_view>

#include "base/error.h"

namespace syrinx {

/// What a text has, in rising order.
enum class TextContent {
  kBlank,  ///< only white space
  kSigns,  ///< no letter and no number: an emoji, a row of stars
  kWords,  ///< a letter or a number of any script, or invalid UTF-8
};

/// Returns what a text has.
TextContent content_of(std::string_view text);

/// Returns whether an error is that of nothing_to_say(), perhaps with a longer message.
bool is_nothing_to_say(const Error& error);

}  // namespace syrinx
