// A command of a program: a function that declares it, and what runs when it is chosen.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace syrinx {

/// What runs once the command line has been read, on the main thread; its result is the exit code.
using Chosen = std::function<int()>;

/// Declares a command and its options in `app`. When it is chosen, `chosen` becomes what it does.
using AddCommand = void (*)(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
