// Texts that a voice cannot speak, and for which silence may stand: an emoji, a row of stars. Free
// functions; any thread.
#pragma once

#include <string_view>

#include "base/error.h"

namespace syrinx {

/// Returns whether a text has a letter or a number of any script. Also true for invalid UTF-8.
bool has_words(std::string_view text);

/// Returns whether silence may stand for a text: `error` is that of nothing_to_say(), and the text
/// has signs, but no words. An empty text, or one of a script that the voice lacks, stays an error.
bool may_be_silent(std::string_view text, const Error& error);

}  // namespace syrinx
