// What the workers of a fleet say of themselves (GET /health and /metrics), read and drawn. Pure
// functions on text; any thread. What comes is not trusted: it is bounded, and shown without
// control characters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Sums over all models of a worker: by name, without labels; of a histogram also its buckets.
struct Scrape {
  double at_s = 0;                                         ///< when it was read
  std::map<std::string, double, std::less<>> values = {};  ///< gauges and counters
  std::map<double, double> first_audio = {};               ///< cumulative counts by bound, s
  double value(std::string_view name) const {
    const auto at = values.find(name);
    return at == values.end() ? 0 : at->second;
  }
};
/// Prometheus' text format; lines that make no sense are left out.
Scrape read_metrics(std::string_view text, double at_s);

/// A quantile in seconds, interpolated within its bucket; nothing without any count.
std::optional<double> quantile(const std::map<double, double>& buckets, double share);

/// One worker at one moment.
struct WorkerView {
  std::string url = {};
  std::string state = {};  ///< ready, loading, draining or unreachable
  std::string fault = {};  ///< why it is unreachable
  int streams = 0, waiting = 0;
  double capacity = 0;  ///< streams that its learned costs allow; 0: not known
  double wait_s = 0;    ///< predicted for one more
  /// From here on: since the last look, or since the worker began where there was none.
  std::optional<double> first_audio_p50_s = {}, first_audio_p95_s = {};
  double late_a_minute = 0;   ///< chunks that came late in a minute of audio
  double audio_a_second = 0;  ///< seconds of audio made in a second
  double refused = 0;         ///< requests
  double uptime_s = 0;
  std::vector<std::string> models = {};  ///< those that are loaded

  double used() const { return capacity > 0 ? (streams + waiting) / capacity : 0; }
};

/// `health` is the body of /health; `before` null: the first look.
WorkerView view_worker(const std::string& url, const std::string& health, const Scrape& now,
                       const Scrape* before);
/// The line of a worker that did not answer; `why` is shown with it.
WorkerView unreachable_worker(const std::string& url, const std::string& why);

/// A table with a line for each and one for all. `colour`: with the terminal's escapes.
std::string draw_workers(const std::vector<WorkerView>& workers, bool colour);
/// A JSON array of them, on one line.
std::string workers_json(const std::vector<WorkerView>& workers);

}  // namespace syrinx
