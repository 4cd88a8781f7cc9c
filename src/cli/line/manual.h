// The manual page, made from the declared commands. Free function; any thread.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace syrinx {

/// Returns syrinx(1) in the language of man(7).
std::string manual_page(const CLI::App& app, const std::string& version);

}  // namespace syrinx
