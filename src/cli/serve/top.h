// `syrinx top`: what all workers of a fleet are doing, drawn again and again.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_top(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
