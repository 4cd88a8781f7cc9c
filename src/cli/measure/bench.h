// `syrinx bench` and `syrinx simulate`: options and entry points.
#pragma once

#include <string>
#include <vector>

#include "bench/simulator.h"
#include "cli/line/command.h"
#include "runtime/runtime.h"

namespace syrinx {

/// Options of `bench --predict`, which measures what answers gain from drafts during the question.
struct PredictBench {
  bool on = false;
  std::string speaker = "finch";
  std::string questions = "typed";  ///< "typed", "heard" or a file
  double characters_a_second = 10;  ///< speed of "typed"
  int sample = 0;                   ///< number of questions that are used; 0: all
  std::string system;
  int max_tokens = 100;                           ///< most tokens of an answer
  int sentence_chars = 0;                         ///< most characters of a sentence; 0: default
  std::string rules = "greedy,top-3,reflection";  ///< drafting methods; each is a separate run
  std::string hint;                               ///< see Prediction::hint
  int draft_tokens = 30;
  bool real_time = false;
  std::string costs_file;  ///< costs of batches for the virtual clock; empty: measures them first
};

/// Options of a load on a server (`url`) or on an engine in this process. At most one of rates,
/// streams, listeners and trace may be set. Each value of such a list is a separate run.
struct BenchOptions {
  LoadOptions load;
  SpeechRequest request;  ///< options of every request; each request sets its text and seed
  std::string url;        ///< http://host:port; empty means an engine in this process
  std::string api_key_file;
  std::string fields;  ///< a JSON object added to every body
  int sample_rate_hz = 24000;
  double timeout_s = 60;
  bool new_connections = false;

  std::vector<double> rates;  ///< requests per second of an open loop
  std::vector<int> streams, listeners;
  std::string trace;
  double trace_speed = 1;
  std::string text, text_file;  ///< a text, or a file of texts, instead of the built-in ones
  double duration_s = 0;        ///< 0: no limit for --streams (the default load), else 30 s
  double warmup_s = -1;         ///< negative means 2 s, or 0 s for counted repeats and traces
  int repeats = 0;              ///< requests of each stream; 0 means 3, unless a duration is set
  double audible_dbfs = -40;

  bool search = false;
  double search_start = 0;  ///< first load of a search; 0 means 1 request a second, or 4 clients
  double search_precision = 0.05;
  double target_first_audio_ms = 100, target_percentile = 90, target_viable = 0.999;

  std::string json_file, html_file;
  bool json_requests = false;
  std::string profile_file;  ///< file for a step profile, which is measured instead of a load
  PredictBench predict;
};
/// Runs the loads of the options and prints the report. Returns the exit code.
int run_bench(const BenchOptions& options);
/// Runs `bench --predict` and prints the report. Returns the exit code.
int run_bench_predict(const BenchOptions& options);

/// Options of `simulate --day`, which computes a day of a fleet.
struct DayCommand {
  double listeners = 0;      ///< listeners at the peak; 0 disables the day
  double asks_every_s = 30;  ///< interval of each listener's requests
  double day_s = 86400;
  std::vector<double> levels;  ///< levels of the load; empty means usual_day()
  int rows = 24;
  bool exact = false;  ///< simulate every request with the engine's scheduler
};

/// Options of `syrinx simulate`.
struct SimulateOptions {
  std::string profile_file;
  SimulationOptions how;
  std::vector<std::string> failures;  ///< texts for read_failure()
  std::vector<int> autoscale;         ///< least and most number of workers
  Autoscaling scaling;
  DayCommand day;
  BenchOptions load;  ///< its load, targets and report options are used
};
/// Runs the simulation and prints the report. Returns the exit code.
int run_simulate(const SimulateOptions& options);

/// Adds the command `bench`. If the user chooses it, sets `chosen` to run it.
void add_bench(CLI::App& app, Chosen& chosen);
/// Adds the command `simulate`. If the user chooses it, sets `chosen` to run it.
void add_simulate(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
