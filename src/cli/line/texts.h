// The commands `syrinx completion` and `syrinx manual`.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_texts(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
