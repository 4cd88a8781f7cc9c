// The command `syrinx trace`.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_trace(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
