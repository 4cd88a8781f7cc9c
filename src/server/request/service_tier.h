// OpenAI's field `service_tier`: how soon a request is to be answered.
#pragma once

#include <optional>
#include <string_view>

namespace syrinx {

inline constexpr const char* kServiceTiers =
    "'service_tier' may be auto, default, priority or flex.";

/// Whether requests of that tier run in the background; nothing: there is no such tier.
inline std::optional<bool> in_background(std::string_view tier) {
  if (tier == "flex") return true;
  if (tier == "auto" || tier == "default" || tier == "priority") return false;
  return std::nullopt;
}

}  // namespace syrinx
