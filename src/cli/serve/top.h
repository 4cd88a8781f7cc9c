// `syrinx top`: shows the state of all workers of a fleet, again and again.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_top(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
