// Parses a template's text. Thread-safe free function.
#pragma once

#include <memory>
#include <string_view>

#include "text/jinja/ast.h"

namespace syrinx::jinja {

/// The limit of a template's size in bytes. The largest published templates have 20 KB.
inline constexpr size_t kMaxTemplateBytes = 256 << 10;

/// Returns the tree. Throws SyntaxFault for invalid or unsupported syntax.
std::shared_ptr<const Tree> parse_template(std::string_view source);

}  // namespace syrinx::jinja
