// The command `syrinx inspect`.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_inspect(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
