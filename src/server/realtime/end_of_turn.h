// When a speaker that pauses is done, by the words so far and by how the pitch ended:
// the rules that stand for OpenAI's `semantic_vad`. A sentence that is complete needs a short
// pause, one that breaks off after "and" a long one; recognisers without punctuation leave the
// middle, and there a pitch that fell says that it is complete. A model that hears whether the
// speaker is done (ears/smart_turn.h) is asked before the words. Free functions.
#pragma once

#include <optional>
#include <string_view>

namespace syrinx {

enum class Eagerness { kLow, kMedium, kHigh };

/// The pause that ends the turn at the latest, whatever was said: 8, 4 or 2 s.
int longest_pause_ms(Eagerness eagerness);
/// The pause that ends it after this transcript, which may still be empty, where the pitch `fell`.
/// `done`: what a model hears of the speaker; unset: there is none, or it has not answered.
int pause_that_ends_ms(Eagerness eagerness, std::string_view transcript, bool fell,
                       std::optional<bool> done = {});

}  // namespace syrinx
