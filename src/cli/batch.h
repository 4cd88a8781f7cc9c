// `syrinx batch`: speaks every line of a list into a file, by an engine in this process or by any
// number of servers, and goes on where it was when it is begun again. Main thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace syrinx {

struct BatchOptions {
  LoadOptions load;  ///< without servers: what speaks
  std::string list;  ///< JSON Lines; "-": the standard input
  std::string output;
  std::vector<std::string> servers;
  std::string api_key_file;
  std::string shard;        ///< "2/8"
  std::string fields;       ///< a JSON object: what a line does not say itself
  std::string format;       ///< "wav", "flac", ...; empty: wav
  std::string voice_store;  ///< without servers
  int jobs = 32;            ///< requests at a time, of each server
  double timeout_s = 600;   ///< of a request
  double patience_s = 60;   ///< without any server that takes requests, before it ends
  bool retry_failed = false;
  bool quiet = false;
};

/// Exit code: kExitOk when all of the list is spoken; kExitFailed when some of it failed or was not
/// done; kExitIncomplete when all is there and some of it reached a bound before its end.
int run_batch(const BatchOptions& options);

}  // namespace syrinx
