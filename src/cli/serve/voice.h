// `syrinx voice`: stores voices, lists them, exports them.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_voice(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
