// `syrinx batch`: speaks every line of a list into a file, by an engine in this process or by any
// number of servers, and goes on where it was when it is begun again.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_batch(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
