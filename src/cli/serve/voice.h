// `syrinx voice`: keeps voices, shows them, gives them away.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_voice(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
