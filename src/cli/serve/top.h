// `syrinx top`: shows the state of all workers of a fleet, repeatedly.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_top(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
