// The manual page, made from the declared commands. Free function; any thread.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace syrinx {

/// Returns the manual page syrinx(1) in the man(7) format.
std::string manual_page(const CLI::App& app, const std::string& version);

}  // namespace syrinx
