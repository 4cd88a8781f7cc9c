// The command `syrinx hub`.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_hub(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
