// How commands end. Errors are thrown as LoadError or UsageError, with a message of one line.
#pragma once

#include <stdexcept>

namespace syrinx {

/// Reports an invalid command line; the program ends with exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Exit codes of every command. kExitIncomplete: the audio ends before the text does, because it
/// reached a bound or the voice repeated itself.
enum ExitCode { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitIncomplete = 3 };

}  // namespace syrinx
