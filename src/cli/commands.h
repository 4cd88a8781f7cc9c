// The commands of `syrinx`, without their parsing: each takes its options, prints, and returns the
// exit code. What goes wrong is thrown as LoadError or UsageError, in one line for people.
// One command per process; main thread.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace syrinx {

/// The command line asks for something that makes no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Exit codes of every command. kExitIncomplete: spoken, but a bound was reached before the end of
/// the text, or the voice repeated itself and was stopped.
enum ExitCode { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitIncomplete = 3 };

struct SayOptions {
  LoadOptions load;
  SpeechRequest request;           ///< its text is filled from the two below
  std::vector<std::string> words;  ///< the text, or "-" for the standard input
  std::string text_file;
  std::string output;  ///< "-": the standard output; empty: a player, or else speech.wav
  bool play = false;   ///< also when there is an output
  bool print_words = false;
  std::string srt_file;
};
int run_say(SayOptions options);

struct ServeOptions {
  LoadOptions load;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string api_key_file;
  bool allow_public = false;
  bool quiet = false;  ///< no line per request
  double drain_timeout_s = 30;
  double stall_timeout_s = 30;
  size_t max_body_bytes = size_t{1} << 20;
  int max_connections = 1024;
};
int run_serve(const ServeOptions& options);

int run_inspect(const LoadOptions& options);

struct TraceCommand {
  LoadOptions load;
  SpeechRequest request;
  std::string output;
  int logit_steps = 32;  ///< of so many steps the logits are kept
};
int run_trace(TraceCommand options);

struct BenchOptions {
  LoadOptions load;
  SpeechRequest request;
  int streams = 8;
  int repeats = 3;  ///< requests that each stream makes, one after another
};
int run_bench(const BenchOptions& options);

}  // namespace syrinx
