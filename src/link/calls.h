// Calls of a sequence as bytes: a sequence of the same request that receives the same calls, in
// order, is the same sequence. Pure functions but for apply_call().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/sequence.h"

namespace syrinx {

std::string take_call(int port, const Frames& frames);
/// Text came late, the last piece where `last`.
std::string text_call(std::string_view text, bool last);
/// A step was taken: its codes, and ArTraits::values numbers.
std::string advance_call(std::span<const int32_t> codes, std::span<const float> values);
/// A guess was wrong: the codes that its rows yielded.
std::string missed_call(std::span<const int32_t> codes);

/// Facts of the node that apply_call() needs.
struct CallRules {
  std::span<const FrameType> in;  ///< its input ports
  std::span<const int> vocab;     ///< codes are below these
  int values = 0;
};
/// Applies a call to the sequence. `advanced`: it was a step, and this is what it does next. Throws
/// LoadError for bytes that are not a call of such a node; an Error is the sequence's own.
Status apply_call(Sequence& sequence, std::string_view call, const CallRules& rules,
                  std::optional<Verdict>& advanced);

}  // namespace syrinx
