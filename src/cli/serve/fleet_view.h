// Parses and draws the reports of a fleet's workers (GET /health and /metrics). Pure functions on
// text; any thread. Workers are not trusted: their texts are bounded and shown without control
// characters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Metrics of a worker, by name without labels, summed over all models. Histograms also by bucket.
struct Scrape {
  double at_s = 0;                                         ///< when the metrics were read
  std::map<std::string, double, std::less<>> values = {};  ///< gauges and counters
  std::map<double, double> first_audio = {};               ///< cumulative counts by bound in s
  double value(std::string_view name) const {
    const auto at = values.find(name);
    return at == values.end() ? 0 : at->second;
  }
};
/// Reads Prometheus' text format; ignores invalid lines.
Scrape read_metrics(std::string_view text, double at_s);

/// Returns a quantile in seconds, interpolated within its bucket; nothing without counts.
std::optional<double> quantile(const std::map<double, double>& buckets, double share);

/// The state of one worker at one moment.
struct WorkerView {
  std::string url = {};
  std::string state = {};  ///< ready, loading, draining or unreachable
  std::string fault = {};  ///< why it is unreachable
  int streams = 0, waiting = 0;
  double capacity = 0;  ///< streams that its learned costs allow; 0 if unknown
  double wait_s = 0;    ///< predicted wait of a further request
  /// Values since the previous look. At the first look, since the worker's start.
  std::optional<double> first_audio_p50_s = {}, first_audio_p95_s = {};
  double late_a_minute = 0;   ///< chunks that were late, per minute of audio
  double audio_a_second = 0;  ///< seconds of audio made per second
  double refused = 0;         ///< refused requests
  double uptime_s = 0;
  std::vector<std::string> models = {};  ///< names of the loaded models

  double used() const { return capacity > 0 ? (streams + waiting) / capacity : 0; }
};

/// Returns the state of a worker. `health`: body of /health. `before`: null at the first look.
WorkerView view_worker(const std::string& url, const std::string& health, const Scrape& now,
                       const Scrape* before);
/// Returns the state of a worker that did not answer; `why` is shown with it.
WorkerView unreachable_worker(const std::string& url, const std::string& why);

/// Draws a table with one line for each worker and a line for their sum. `colour`: uses the
/// terminal's colours.
std::string draw_workers(const std::vector<WorkerView>& workers, bool colour);
/// Returns the workers as a JSON array, on one line.
std::string workers_json(const std::vector<WorkerView>& workers);

}  // namespace syrinx
