// Runs another program, passes text to its standard input and returns its output. For tools that
// are run instead of linked: once per text, or one process for many texts. Uses no shell.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

struct ProgramLimits {
  size_t max_output = 1 << 20;  ///< most bytes of output; more is a fault
  double timeout_s = 10;        ///< time after which the program is killed
};

/// Runs a program. `command`: the program, which is searched on the PATH, and its arguments. Faults
/// (the program is missing, failed, printed too much or took too long) are kNotFound or kInternal
/// and name the program. Any thread.
Result<std::string> run_program(const std::vector<std::string>& command, const std::string& input,
                                const ProgramLimits& limits = {});

/// A program that answers lines of its standard input until its KeptProgram is destroyed. Its
/// output is a raw pseudo-terminal, so that it does not buffer lines. The program sees the end of
/// its input, and exits, when this process ends. One thread at a time.
class KeptProgram {
 public:
  /// Starts the program. Faults are those of run_program(), and kInternal if the system has no
  /// pseudo-terminals.
  static Result<std::unique_ptr<KeptProgram>> start(const std::vector<std::string>& command);
  /// Kills the program.
  ~KeptProgram();
  KeptProgram(const KeptProgram&) = delete;
  KeptProgram& operator=(const KeptProgram&) = delete;

  /// Writes `input`, then reads output until `whole` returns true, and returns the output. After a
  /// fault, later calls fail, too.
  Result<std::string> ask(std::string_view input,
                          const std::function<bool(std::string_view printed)>& whole,
                          const ProgramLimits& limits = {});

 private:
  KeptProgram(std::string name, pid_t pid, int in, int out)
      : name_(std::move(name)), pid_(pid), in_(in), out_(out) {}
  std::string talk(std::string_view input, const std::function<bool(std::string_view)>& whole,
                   const ProgramLimits& limits, std::string& output);

  const std::string name_;
  const pid_t pid_;
  int in_, out_;
  bool broken_ = false;
};

}  // namespace syrinx
