// The command `syrinx say`.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_say(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
