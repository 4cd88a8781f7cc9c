// `syrinx batch`: speaks every line of a list into a file, with an engine in this process or with
// any number of servers. A second start continues unfinished work.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_batch(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
