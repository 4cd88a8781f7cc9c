// Runs another program with text on its standard input and takes what it prints, for tools that are
// run and not linked. No shell is involved.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace syrinx {

struct ProgramLimits {
  size_t max_output = 1 << 20;  ///< bytes; more is a fault
  double timeout_s = 10;        ///< then it is killed
};

/// `command`: the program, looked for on the PATH, and its arguments. Faults (it is missing,
/// failed, printed too much, took too long) are kNotFound or kInternal and name the program. Any
/// thread.
Result<std::string> run_program(const std::vector<std::string>& command, const std::string& input,
                                const ProgramLimits& limits = {});

}  // namespace syrinx
