// The load of a server as a header of its answers: `endpoint-load-metrics` of ORCA (Open Request
// Cost Aggregation), which Envoy, gRPC and vLLM support. Thread-safe free functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/models/server_load.h"

namespace syrinx {

/// The header by which a request asks for the load: "TEXT" or "JSON".
inline constexpr const char* kLoadFormatHeader = "endpoint-load-metrics-format";

/// Returns the header's name and value; nothing for an unknown format.
std::optional<std::pair<std::string, std::string>> load_header(std::string_view format,
                                                               const ServerLoad& load);

}  // namespace syrinx
