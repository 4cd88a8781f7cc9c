// The command `syrinx chat`.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_chat(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
