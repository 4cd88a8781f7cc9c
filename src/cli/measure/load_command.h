// Runs loads one after another, or searches for the highest load, and publishes the results. Used
// by `bench`, which measures, and `simulate`, which computes. Main thread.
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

/// Returns the texts of the options. Throws LoadError for an unusable file.
std::vector<std::string> texts_of(const BenchOptions& options);
/// Writes the whole file or nothing. Throws LoadError.
void write_text(const std::string& path, const std::string& text);
/// Checks before the measurement that the files of --json and --html can be written; throws
/// LoadError if not.
void need_results(const BenchOptions& options);

/// A command that runs loads: its traffic, texts, loads and results.
class LoadCommand {
 public:
  /// Throws UsageError when the options contradict each other, LoadError for unusable files.
  explicit LoadCommand(const BenchOptions& options);

  const TrafficOptions& traffic() const { return traffic_; }
  void title(const std::string& text) { report_.title = text; }
  void fact(const std::string& name, const std::string& value) {
    report_.facts.emplace_back(name, value);
  }

  /// Runs all loads and publishes the results. Returns the exit code.
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
