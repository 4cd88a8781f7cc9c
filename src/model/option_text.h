// Sets options by name from values as text, for programs that have only names, e.g. users of the C
// library. Pure functions; any thread.
#pragma once

#include <string_view>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

/// Sets the option of kRequestOptions that has this name. Returns kInvalid if speech has no such
/// option, or the text is not a value of its type. check_request() checks bounds and models.
Status set_option(SpeechRequest& request, std::string_view name, std::string_view value);

}  // namespace syrinx
