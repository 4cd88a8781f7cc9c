// A command of a program: a function that declares it and a function that runs it.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace syrinx {

/// Runs the chosen command on the main thread, after the command line has been read; returns the
/// exit code.
using Chosen = std::function<int()>;

/// Declares a command and its options in `app`. Sets `chosen` when the user chooses the command.
using AddCommand = void (*)(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
