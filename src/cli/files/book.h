// `syrinx book`: speaks a whole book into files, one for each chapter or one for all. A second
// start continues unfinished work.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_book(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
