// The language of a request, read in one way for all families and protocols.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace syrinx {

struct PipelineInfo;

/// Returns the model's name for the language of a request. `asked` is a code, a tag with a region
/// or an English name, in any case. Returns "" if the model decides ("auto" or no language). An
/// Error names "language" and lists the model's languages. A model that lists no languages takes
/// any name.
Result<std::string> read_language(const PipelineInfo& info, std::string_view asked);

/// Whether the model finds the language from the text alone.
bool finds_language_alone(const PipelineInfo& info);

}  // namespace syrinx
