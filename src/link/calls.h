// The calls that change a sequence (text, frames, steps) as bytes. Two sequences of one request are
// equal if they receive the same calls in the same order. Pure functions, except apply_call().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/sequence.h"

namespace syrinx {

std::string take_call(int port, const Frames& frames);
/// Writes a call for late text. `last`: the text is the last piece.
std::string text_call(std::string_view text, bool last);
/// Writes a call for a step with its codes and with ArTraits::values numbers.
std::string advance_call(std::span<const int32_t> codes, std::span<const float> values);
/// Writes a call for wrong guesses (Sequence::missed), with the codes that their rows yielded.
std::string missed_call(std::span<const int32_t> codes);

/// Facts of the node that apply_call() needs.
struct CallRules {
  std::span<const FrameType> in;  ///< the node's input ports
  std::span<const int> vocab;     ///< number of possible values of each code
  int values = 0;
};
/// Applies a call to the sequence. For a step, sets `advanced` to the step's verdict. Throws
/// LoadError for bytes that are not a valid call for the node. Returns the sequence's Error.
Status apply_call(Sequence& sequence, std::string_view call, const CallRules& rules,
                  std::optional<Verdict>& advanced);

}  // namespace syrinx
