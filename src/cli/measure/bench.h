// `syrinx bench` and `syrinx simulate`: loads, what is measured of them, and what they would meet.
#pragma once

#include <string>
#include <vector>

#include "bench/simulator.h"
#include "cli/line/command.h"
#include "runtime/runtime.h"

namespace syrinx {

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

/// A load on a server (url) or on an engine in this process. At most one of rates, streams,
/// listeners and trace is given; each of their values is a run of its own.
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
/// Runs the loads that the options ask for and prints the report. Returns the exit code.
int run_bench(const BenchOptions& options);
/// Runs `bench --predict` and prints the report. Returns the exit code.
int run_bench_predict(const BenchOptions& options);

/// `simulate --day`: a day of a fleet.
struct DayCommand {
  double listeners = 0;      ///< at the peak; 0: no day
  double asks_every_s = 30;  ///< each of them
  double day_s = 86400;
  std::vector<double> levels;  ///< empty: usual_day()
  int rows = 24;
  bool exact = false;  ///< every request through the engine's scheduler
};

/// What `syrinx simulate` is asked for.
struct SimulateOptions {
  std::string profile_file;
  SimulationOptions how;
  std::vector<std::string> failures;  ///< as read_failure()
  std::vector<int> autoscale;         ///< least, most
  Autoscaling scaling;
  DayCommand day;
  BenchOptions load;  ///< the load, targets and results of it
};
/// Runs the simulation and prints the report. Returns the exit code.
int run_simulate(const SimulateOptions& options);

/// Adds the command `bench`, which sets what `chosen` runs.
void add_bench(CLI::App& app, Chosen& chosen);
/// Adds the command `simulate`, which sets what `chosen` runs.
void add_simulate(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
