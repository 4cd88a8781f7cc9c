// From a template's text to its tree. Free function; any thread.
#pragma once

#include <memory>
#include <string_view>

#include "text/jinja/ast.h"

namespace syrinx::jinja {

/// The largest template in bytes; published ones have at most 20 KB.
inline constexpr size_t kMaxTemplateBytes = 256 << 10;

/// Throws SyntaxFault for what is wrong or not supported.
std::shared_ptr<const Tree> parse_template(std::string_view source);

}  // namespace syrinx::jinja
