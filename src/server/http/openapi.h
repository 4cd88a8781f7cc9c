// The description of the HTTP API for machines (OpenAPI 3.1): openapi.json beside this file, part
// of the program, and the options of model/options.h. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// openapi.json as it is.
std::string_view openapi_file();

/// openapi.json, in which the bodies of requests have the options that it does not describe itself.
const std::string& openapi_document();

}  // namespace syrinx
