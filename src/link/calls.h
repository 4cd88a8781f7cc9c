// What a sequence is told, as bytes: whoever is made of the same request and told the same, in
// order, is the same sequence. Pure functions but for tell().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/request.h"

namespace syrinx {

std::string take_call(int port, const Frames& frames);
std::string text_call(std::string_view text, bool last);
/// A step was taken: its codes, and ArTraits::values numbers.
std::string advance_call(std::span<const int32_t> codes, std::span<const float> values);
std::string missed_call(std::span<const int32_t> codes);

/// What tell() needs to know of the node.
struct CallRules {
  std::span<const FrameType> in;  ///< its input ports
  std::span<const int> vocab;     ///< codes are below these
  int values = 0;
};
/// Tells the sequence. `advanced`: it was a step, and this is what it does next. Throws LoadError
/// for what is no call of such a node; an Error is the sequence's own.
Status tell(Sequence& sequence, std::string_view call, const CallRules& rules,
            std::optional<Verdict>& advanced);

}  // namespace syrinx
