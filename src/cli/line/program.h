// The main program: reads the command line, runs one command, and turns an exception into one line
// and an exit code.
#pragma once

#include <span>

#include "cli/line/command.h"

namespace syrinx {

struct Program {
  std::span<const AddCommand> commands;
  const char* footer;  ///< the last lines of the help
};

/// Runs the program; called by main().
int run_program(const Program& program, int argc, char** argv);

}  // namespace syrinx
