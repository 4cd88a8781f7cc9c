// `syrinx serve`: serves models, or stages of a model for other servers.
#pragma once

#include <string>
#include <vector>

#include "cli/line/command.h"
#include "predict/prediction.h"
#include "runtime/runtime.h"
#include "voices/voice_queue.h"

namespace syrinx {

struct ServeOptions {
  LoadOptions load;                 ///< options for every model; `model` is not used
  std::vector<std::string> models;  ///< the first is loaded at the start, others on demand
  std::string voices_dir;           ///< directory of Piper voices, which are appended to `models`
  double model_keep_s = 600;
  double first_keep_s = 0;
  size_t model_memory_mib = 0;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string api_key_file;
  std::string metrics_key_file;  ///< file of keys that may read /metrics
  bool allow_public = false;
  std::string tls_cert, tls_key;           ///< paths of PEM files
  std::vector<std::string> cors_origins;   ///< origins of pages that may use the server
  std::vector<std::string> allowed_hosts;  ///< further host names of the server
  int client_requests_per_min = -1;        ///< -1: 600, or no limit if `host` is loopback
  int client_concurrency = -1;             ///< -1: 32, or no limit if `host` is loopback
  bool quiet = false;                      ///< no log line per request
  double drain_timeout_s = 30;
  double stall_timeout_s = 30;
  size_t max_body_bytes = size_t{1} << 20;
  size_t max_upload_bytes = size_t{25} << 20;
  /// Speech recognisers. "auto" means PocketSphinx if it is installed; "none" disables them.
  std::vector<std::string> ears = {"auto"};
  std::string vad;         ///< Silero's weights; empty means that WebRTC's detector finds turns
  std::string smart_turn;  ///< Smart Turn's weights; empty means that words and pitch end a turn
  double max_heard_s = 4 * 3600;
  std::string predict = "auto";  ///< when answers are predicted: on, ask, off or auto
  Prediction prediction = {};    ///< how answers are predicted
  double max_transcript_wait_s = 5;
  bool decode_in_server = false;  ///< decode recordings in this process, not in confined children
  std::string voice_store;        ///< directory of voices; empty means the default
  bool no_voice_upload = false;   ///< clients may neither add nor remove voices
  bool strict = false;            ///< refuse instructions and SSML that a model lacks
  std::vector<std::string> voice_aliases, model_aliases;  ///< "NAME=VOICE", "NAME=MODEL"
  size_t voice_cache_mib = 256;
  double max_encode_wait_s = VoiceQueueLimits{}.max_wait_s;  ///< longest wait for encode_voice()
  int max_connections = 1024;
  int max_connections_per_address = 256;
  double header_timeout_s = 10, body_timeout_s = 30, idle_timeout_s = 75;
  int wyoming_port = -1;  ///< port for Home Assistant; 0 means any free port, -1 off
  std::string wyoming_host = "127.0.0.1";
  std::vector<std::string> remote;  ///< "NODE=ADDRESS": nodes in other processes
  std::string placement;            ///< file that lists all nodes, instead of `remote`
  std::vector<std::string> stages;  ///< holds only these nodes, for other servers
  std::string listen_stage;         ///< address at which these servers connect
  int agent_port = -1;              ///< port for load balancers; 0 means any free port, -1 off
  std::string agent_host = "127.0.0.1";
};

/// Serves until a signal ends the process. Returns the exit code; throws LoadError.
int run_serve(const ServeOptions& options);
/// Holds stages for other servers (ServeOptions::stages) until a signal. Returns the exit code.
int run_stages(const ServeOptions& options);

/// Adds the command `serve`. If the user chooses it, sets `chosen` to run it.
void add_serve(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
