// Reads the language of a request in the same way for all families and protocols.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace syrinx {

struct PipelineInfo;

/// Returns the model's name for the language of a request. `asked` is a code, a tag with a region
/// or an English name, in any case. Returns "" if the model chooses the language ("auto" or no
/// language). An Error has the parameter "language" and lists the model's languages. A model that
/// lists no languages accepts any name.
Result<std::string> read_language(const PipelineInfo& info, std::string_view asked);

/// Returns whether the model finds the language from the text alone.
bool finds_language_alone(const PipelineInfo& info);

}  // namespace syrinx
