// `syrinx book`: speaks a whole book into files: one file per chapter, or one file in total. A
// second start continues unfinished work.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_book(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
