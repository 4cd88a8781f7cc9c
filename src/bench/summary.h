// What a run says when its requests are looked at together. Plain data and free functions.
// Shares are in [0, 1], times in seconds. Requests of the warm-up never count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/load.h"

namespace syrinx {

/// What a user would call good service.
struct ServiceTargets {
  double first_audio_s = 0.1;
  double percentile = 0.9;  ///< share of requests whose first audio must come in time
  double viable = 0.999;    ///< share of requests that must end well and without an underrun
};

/// What one load came to.
struct LoadSummary {
  LoadPoint point;
  int requests = 0, ok = 0, failed = 0;
  std::map<std::string, int> failures;  ///< how many of each kind: "timeout", "status 503"
  std::string first_failure;            ///< in words
  double seconds = 0;   ///< from the window's beginning, or the first request due, to the last end
  double window_s = 0;  ///< in which requests became due; without a window as `seconds`
  int most_in_flight = 0;

  // Requests that ended well.
  Percentiles first_byte, first_audio, audible, silence, total, rtf;
  Percentiles longest_underrun;  ///< of each request; 0 for those without
  Percentiles stall;             ///< all underruns of a request together
  int64_t underruns = 0;
  double smooth = 0;  ///< share without any underrun: per-stream viability
  double smooth_50ms = 0, smooth_100ms = 0, smooth_200ms = 0;  ///< longest underrun at most this
  double viable_chunks = 0;  ///< share of all chunks but first ones
  double audio_s = 0;
  double audio_per_s = 0;     ///< seconds of audio received in a second
  double requests_per_s = 0;  ///< that ended well

  // All requests; a failed one is never good.
  double in_time = 0;               ///< share with first audio within the target
  double good = 0;                  ///< share in time and without an underrun
  double offered = 0;               ///< requests that became due a second of the window
  double goodput = 0;               ///< good ones of them, as often
  double target_first_audio_s = 0;  ///< the targets' percentile of first audio
  bool holds = false;               ///< all targets are held, by a run that was not given up

  Percentiles lag;  ///< of the generator
};

/// The generator itself was late so much that its figures are not the server's.
inline constexpr double kLateGenerator_s = 0.005;

/// Computes the figures of a run after its warm-up, and whether it holds the targets.
LoadSummary summarize(const LoadResult& result, const ServiceTargets& targets);

}  // namespace syrinx
