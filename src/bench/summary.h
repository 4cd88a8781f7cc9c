// Figures of a run over all of its requests. Plain data and free functions. Shares are in [0, 1],
// times in seconds. Requests of the warm-up never count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/load.h"

namespace syrinx {

/// Limits of good service.
struct ServiceTargets {
  double first_audio_s = 0.1;
  double percentile = 0.9;  ///< share of requests whose first audio must be in time
  double viable = 0.999;    ///< share of requests that must succeed without an underrun
};

/// The figures of one load.
struct LoadSummary {
  LoadPoint point;
  int requests = 0, ok = 0, failed = 0;
  std::map<std::string, int> failures;  ///< number of failures by kind: "timeout", "status 503"
  std::string first_failure;            ///< message of the first failure
  double seconds = 0;   ///< from the window's beginning, or the first due time, to the last end
  double window_s = 0;  ///< length of the window; equal to `seconds` without a window
  int most_in_flight = 0;

  // Figures of successful requests:
  Percentiles first_byte, first_audio, audible, silence, total, rtf;
  Percentiles longest_underrun;  ///< longest underrun of each request, or 0
  Percentiles stall;             ///< sum of the underruns of each request
  int64_t underruns = 0;
  double smooth = 0;  ///< share of requests without any underrun: per-stream viability
  double smooth_50ms = 0, smooth_100ms = 0, smooth_200ms = 0;  ///< shares with underruns up to this
  double viable_chunks = 0;  ///< viable chunks / all chunks, without first chunks
  double audio_s = 0;
  double audio_per_s = 0;     ///< seconds of audio received per second
  double requests_per_s = 0;  ///< successful requests per second

  // Figures of all requests; a failed request is never good:
  double in_time = 0;               ///< share with first audio within the target
  double good = 0;                  ///< share with first audio in time and no underrun
  double offered = 0;               ///< requests that became due, per second of the window
  double goodput = 0;               ///< good requests per second of the window
  double target_first_audio_s = 0;  ///< first audio at the targets' percentile
  bool holds = false;               ///< the run met all targets and was not stopped early

  Percentiles lag;  ///< lateness of the generator
};

/// Lateness above which the generator distorts the figures of the server.
inline constexpr double kLateGenerator_s = 0.005;

/// Computes the figures of a run after its warm-up, and whether the run meets the targets.
LoadSummary summarize(const LoadResult& result, const ServiceTargets& targets);

}  // namespace syrinx
