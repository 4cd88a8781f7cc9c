// The list of all commands of the program. Free function; any thread.
#pragma once

#include <span>

#include "cli/line/command.h"

namespace syrinx {

/// Returns the commands in the order of the help.
std::span<const AddCommand> all_commands();

}  // namespace syrinx
