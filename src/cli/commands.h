// The commands of `syrinx`, without their parsing: each takes its options, prints, and returns the
// exit code. What goes wrong is thrown as LoadError or UsageError, in one line for people.
// One command per process; main thread.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bench/simulator.h"
#include "predict/prediction.h"
#include "runtime/runtime.h"
#include "voices/voice_store.h"

namespace syrinx {

/// The command line asks for something that makes no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Exit codes of every command. kExitIncomplete: spoken, but a bound was reached before the end of
/// the text, or the voice repeated itself and was stopped.
enum ExitCode { kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitIncomplete = 3 };

/// A voice of one's own, instead of one of the model's.
struct VoiceChoice {
  std::string store;  ///< directory of kept voices; empty: where they lie by default
  std::string ref_audio = {}, ref_text = {}, ref_mode = {};  ///< a recording to clone
  bool ref_trim = false;                                     ///< of its silence at both ends
  std::string embedding_file = {};                           ///< of a speaker
  /// What was said before, oldest first: speaker, file with its sound ("-": none), words.
  std::vector<std::tuple<int, std::string, std::string>> turns = {};
};

struct SayOptions {
  LoadOptions load;
  VoiceChoice voice;
  SpeechRequest request;           ///< its text is filled from the two below
  std::vector<std::string> words;  ///< the text, or "-" for the standard input
  std::string text_file;
  std::string output;  ///< "-": the standard output; empty: a player, or else speech.wav
  std::string format;  ///< "wav", "mp3", ...; empty: as the output's name ends
  bool play = false;   ///< also when there is an output
  double volume = 1;   ///< as change_volume()
  bool print_words = false, print_phones = false;
  std::string srt_file;
};
int run_say(SayOptions options);

struct ChatOptions {
  LoadOptions load;               ///< of the text model
  std::string speaker = "finch";  ///< the model that speaks its answers
  VoiceChoice voice;
  SpeechRequest request;  ///< how they are spoken
  std::string system, once, output;
  std::optional<float> temperature;
  int max_tokens = 0;
  bool no_predict = false;
  Prediction prediction = {};
  bool listen = false;  ///< questions are spoken, not typed
  std::string ears = "pocketsphinx";
};
int run_chat(ChatOptions options);

struct ServeOptions {
  LoadOptions load;                 ///< of every model; `model` is not used
  std::vector<std::string> models;  ///< the first is loaded at once, others when asked for
  double model_keep_s = 600;
  size_t model_memory_mib = 0;
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
  size_t max_upload_bytes = size_t{25} << 20;
  /// What recognises speech. "auto": PocketSphinx where it is installed; "none".
  std::vector<std::string> ears = {"auto"};
  double max_heard_s = 4 * 3600;
  std::string predict = "auto";   ///< on, ask, off or auto
  Prediction prediction = {};     ///< and how
  bool decode_in_server = false;  ///< recordings, instead of in confined children
  std::string voice_store;        ///< empty: where it lies by default
  bool no_voice_upload = false;   ///< clients may neither add nor remove voices
  bool strict = false;            ///< refuse what a model cannot honour
  std::vector<std::string> voice_aliases, model_aliases;  ///< "NAME=VOICE", "NAME=MODEL"
  size_t voice_cache_mib = 256;
  int max_connections = 1024;
  int max_connections_per_address = 256;
  double header_timeout_s = 10, body_timeout_s = 30, idle_timeout_s = 75;
  int wyoming_port = -1;  ///< for Home Assistant; 0: any free one; -1: off
  std::string wyoming_host = "127.0.0.1";
  std::vector<std::string> remote;  ///< "NODE=ADDRESS": chunk nodes in other processes
  std::vector<std::string> stages;  ///< to hold only these nodes, for servers that come to
  std::string listen_stage;         ///< this address
  int agent_port = -1;              ///< for load balancers; 0: any free one; -1: off
  std::string agent_host = "127.0.0.1";
};
int run_serve(const ServeOptions& options);
/// The process that holds stages for others (ServeOptions::stages).
int run_stages(const ServeOptions& options);

/// What is said in recordings.
struct TranscribeOptions {
  std::vector<std::string> files;  ///< "-": the standard input
  std::string ears = "pocketsphinx";
  std::string language;
  std::string prompt;
  bool translate = false, word_times = false;
  std::string format;  ///< txt, srt, vtt or json; empty: as the output's name ends, or txt
  std::string output;  ///< a file, or a directory for several; empty or "-": the standard output
  bool quiet = false;  ///< no progress
};
int run_transcribe(const TranscribeOptions& options);

struct VoiceOptions {
  LoadOptions load;  ///< its model may be empty
  std::string store;
  NewVoice wish;
  bool trim = false;               ///< silence at both ends of a recording
  std::string file;                ///< what is added, or written
  std::vector<std::string> names;  ///< of those to be removed
};
int run_voice_add(const VoiceOptions& options);
int run_voice_list(const VoiceOptions& options);
int run_voice_show(const VoiceOptions& options);
int run_voice_remove(const VoiceOptions& options);
int run_voice_export(const VoiceOptions& options);

struct HubPullOptions {
  std::vector<std::string> models;
  std::vector<std::string> include;
};
int run_hub_pull(const HubPullOptions& options);

int run_inspect(const LoadOptions& options);

struct TraceCommand {
  LoadOptions load;
  SpeechRequest request;
  VoiceChoice voice;
  std::string output;
  int logit_steps = 32;  ///< of so many steps the logits are kept
};
int run_trace(TraceCommand options);

/// A load on a server (url) or on an engine in this process. At most one of rates, streams,
/// listeners and trace is given; each of their values is a run of its own.
/// `bench --predict`: what drafting answers while their questions come is worth.
struct PredictBench {
  bool on = false;
  std::string speaker = "finch";
  std::string questions = "typed";  ///< or heard, or a file
  double characters_a_second = 10;  ///< typed
  std::string system;
  int max_tokens = 100;                           ///< of an answer
  int sentence_chars = 0;                         ///< a sentence is cut there; 0: as everywhere
  std::string rules = "greedy,top-3,reflection";  ///< each a run of its own
  std::string hint;                               ///< Prediction::hint
  int draft_tokens = 30;
  bool real_time = false;
  std::string costs_file;  ///< of batches, for the virtual clock; empty: measured first
};

struct BenchOptions {
  LoadOptions load;
  SpeechRequest request;  ///< what every request takes; text and seed are the run's
  std::string url;        ///< http://host:port; empty: in this process
  std::string api_key_file;
  std::string fields;  ///< a JSON object added to every body
  int sample_rate_hz = 24000;
  double timeout_s = 60;
  bool new_connections = false;

  std::vector<double> rates;  ///< requests a second, open loop
  std::vector<int> streams, listeners;
  std::string trace;
  double trace_speed = 1;
  std::string text, text_file;  ///< instead of the built-in texts
  double duration_s = 0;        ///< 0: 30, or by repeats where they count
  double warmup_s = -1;         ///< negative: 2, but 0 for counted repeats and traces
  int repeats = 0;              ///< of streams; 0: 3, unless a duration is given
  double audible_dbfs = -40;

  bool search = false;
  double search_start = 0;  ///< 0: 1 request a second, or 4 clients
  double search_precision = 0.05;
  double target_first_audio_ms = 100, target_percentile = 90, target_viable = 0.999;

  std::string json_file, html_file;
  bool json_requests = false;
  std::string profile_file;  ///< measure the costs of steps instead
  PredictBench predict;
};
int run_bench_predict(const BenchOptions& options);
int run_bench(const BenchOptions& options);

/// `simulate --day`: a day of a fleet.
struct DayCommand {
  double listeners = 0;      ///< at the peak; 0: no day
  double asks_every_s = 30;  ///< each of them
  double day_s = 86400;
  std::vector<double> levels;  ///< empty: usual_day()
  int rows = 24;
  bool exact = false;  ///< every request through the engine's scheduler
};

struct SimulateOptions {
  std::string profile_file;
  SimulationOptions how;
  std::vector<std::string> failures;  ///< as read_failure()
  std::vector<int> autoscale;         ///< least, most
  Autoscaling scaling;
  DayCommand day;
  BenchOptions load;  ///< the load, targets and results of it
};
int run_simulate(const SimulateOptions& options);

}  // namespace syrinx
