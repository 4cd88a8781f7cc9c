// Completion scripts for shells, made from the command line itself. Free function; any thread.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace syrinx {

/// `shell` is bash, zsh or fish. Commands, options and the values of options with few are completed
/// by name, everything else as a path.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace syrinx
