// A command line: reads it, runs one command, turns what is thrown into one line and an exit code.
#pragma once

#include <span>

#include "cli/line/command.h"

namespace syrinx {

struct Program {
  std::span<const AddCommand> commands;
  const char* footer;  ///< of its help
};

/// main() of a program called `syrinx`.
int run_program(const Program& program, int argc, char** argv);

}  // namespace syrinx
