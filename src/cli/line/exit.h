// How commands end. What goes wrong is thrown as LoadError or UsageError, in one line for people.
#pragma once

#include <stdexcept>

namespace syrinx {

/// The command line asks for something that makes no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Exit codes of every command. kExitIncomplete: spoken, but a bound was reached before the end of
/// the text, or the voice repeated itself and was stopped.
enum ExitCode { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitIncomplete = 3 };

}  // namespace syrinx
