// The language of a request, read in one way for all families and protocols.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace syrinx {

struct PipelineInfo;

/// Returns the model's name for the language of a request, given as a code, a tag with a region or
/// an English name, in any case. "" where the model decides ("auto" or no language). An
/// Error names "language" and lists those of the model. A model that lists no languages takes any
/// name.
Result<std::string> read_language(const PipelineInfo& info, std::string_view asked);

/// Whether the model takes the language from the text and from nothing else.
bool finds_language_alone(const PipelineInfo& info);

}  // namespace syrinx
