// OpenAI's field `service_tier`, the priority of a request.
#pragma once

#include <optional>
#include <string_view>

namespace syrinx {

inline constexpr const char* kServiceTiers =
    "'service_tier' may be auto, default, priority or flex.";

/// Returns whether requests of the tier run in the background; nothing for an unknown tier.
inline std::optional<bool> in_background(std::string_view tier) {
  if (tier == "flex") return true;
  if (tier == "auto" || tier == "default" || tier == "priority") return false;
  return std::nullopt;
}

}  // namespace syrinx
