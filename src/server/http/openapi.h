// The description of the HTTP API for programs (OpenAPI 3.1): openapi.json of this directory, which
// is part of the program, and the options of model/options.h. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Returns openapi.json unchanged.
std::string_view openapi_file();

/// Returns openapi.json, with all options of model/options.h in the bodies of requests.
const std::string& openapi_document();

}  // namespace syrinx
