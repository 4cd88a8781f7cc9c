// Completion scripts for shells, made from the declared commands. Free function; any thread.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace syrinx {

/// Returns the script for `shell`: bash, zsh or fish. It completes the names of commands, options
/// and the few values that some options permit. Everything else is completed as a path.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace syrinx
