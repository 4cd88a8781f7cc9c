// Runs loads one after another, or searches for the highest, and publishes what came out. Shared by
// `bench`, which measures, and `simulate`, which computes. Main thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/load.h"
#include "bench/report.h"
#include "cli/measure/bench.h"

namespace syrinx {

using ShowProgress = std::function<void(const LoadProgress&)>;
using RunLoad =
    std::function<LoadResult(const LoadPoint&, const TrafficOptions&, const ShowProgress&)>;

/// The texts that the options ask for. Throws LoadError when a file cannot be used.
std::vector<std::string> texts_of(const BenchOptions& options);
/// Writes the file whole or not at all. Throws LoadError.
void write_text(const std::string& path, const std::string& text);
/// Throws LoadError where --json or --html cannot be written, before the measurement.
void need_results(const BenchOptions& options);

/// What a command that runs loads is made of: traffic, texts, loads and results.
class LoadCommand {
 public:
  /// Throws UsageError when the options contradict each other, LoadError for files.
  explicit LoadCommand(const BenchOptions& options);

  const TrafficOptions& traffic() const { return traffic_; }
  void title(const std::string& text) { report_.title = text; }
  void fact(const std::string& name, const std::string& value) {
    report_.facts.emplace_back(name, value);
  }

  /// Runs everything and publishes it; the exit code.
  int run(RunLoad run_load);

 private:
  void choose_load();
  void choose_times(bool counted);
  const LoadSummary& measure(const LoadPoint& point, const TrafficOptions& traffic);
  void search();
  void give_up_when_hopeless(TrafficOptions& traffic, const LoadPoint& point) const;
  void publish() const;

  const BenchOptions& options_;
  RunLoad run_load_;
  TrafficOptions traffic_;
  std::vector<LoadPoint> points_;
  Report report_;
};

}  // namespace syrinx
