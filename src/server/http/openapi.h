// The description of the HTTP API for machines (OpenAPI 3.1): openapi.json beside this file, part
// of the program. Static data; any thread.
#pragma once

#include <string>

namespace syrinx {

std::string openapi_document();

}  // namespace syrinx
