// The load of a server in its answers: the header `endpoint-load-metrics` of ORCA (Open Request
// Cost Aggregation), as Envoy, gRPC and vLLM know it. Free functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/models/server_load.h"

namespace syrinx {

/// A request asks for the load with this header: "TEXT" or "JSON".
inline constexpr const char* kLoadFormatHeader = "endpoint-load-metrics-format";

/// Name and value of the header in the answer; nothing for another format.
std::optional<std::pair<std::string, std::string>> load_header(std::string_view format,
                                                               const ServerLoad& load);

}  // namespace syrinx
