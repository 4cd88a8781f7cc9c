// Runs another program with text on its standard input and takes what it prints, for tools that are
// run and not linked: once a text, or kept running for many. No shell is involved.
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
  size_t max_output = 1 << 20;  ///< bytes; more is a fault
  double timeout_s = 10;        ///< then it is killed
};

/// `command`: the program, looked for on the PATH, and its arguments. Faults (it is missing,
/// failed, printed too much, took too long) are kNotFound or kInternal and name the program. Any
/// thread.
Result<std::string> run_program(const std::vector<std::string>& command, const std::string& input,
                                const ProgramLimits& limits = {});

/// A program that answers lines of its standard input for as long as it is kept. Its output is a
/// terminal's, raw, so that it holds no line back. It ends with its input, so with this process.
/// One thread at a time.
class KeptProgram {
 public:
  /// Faults as those of run_program(); kInternal, too, where there are no pseudo-terminals.
  static Result<std::unique_ptr<KeptProgram>> start(const std::vector<std::string>& command);
  /// Kills it.
  ~KeptProgram();
  KeptProgram(const KeptProgram&) = delete;
  KeptProgram& operator=(const KeptProgram&) = delete;

  /// Writes `input` and returns what is printed until `whole` says that it is the answer. After a
  /// fault the program answers nothing more.
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
