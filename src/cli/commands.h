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

struct SayOptions {
  LoadOptions load;
  SpeechRequest request;           ///< its text is filled from the two below
  std::vector<std::string> words;  ///< the text, or "-" for the standard input
  std::string text_file;
  std::string output = "speech.wav";  ///< "-": the standard output
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
  std::string tls_cert, tls_key;           ///< PEM files
  std::vector<std::string> cors_origins;   ///< pages that may use the server
  std::vector<std::string> allowed_hosts;  ///< further names that the server goes by
  int client_requests_per_min = -1;        ///< -1: no limit on this machine, 600 beyond
  int client_concurrency = -1;             ///< -1: no limit on this machine, 32 beyond
  bool quiet = false;                      ///< no line per request
  double drain_timeout_s = 30;
  double stall_timeout_s = 30;
  size_t max_body_bytes = size_t{1} << 20;
  int max_connections = 1024;
  int max_connections_per_address = 256;
  double max_audio_s = 3600;
  double header_timeout_s = 10, body_timeout_s = 30, idle_timeout_s = 75;
  int wyoming_port = -1;  ///< for Home Assistant; 0: any free one; -1: off
  std::string wyoming_host = "127.0.0.1";
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
