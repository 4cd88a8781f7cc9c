// `syrinx book`: speaks a whole book into files, a chapter each or all in one, and goes on where it
// was when it is begun again.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_book(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
