// Counts of prediction in a process so far, for monitoring. Counters have one writer and may be
// read by any thread.
#pragma once

#include <string>

#include "engine/metrics.h"

namespace syrinx {

struct PredictionCounters {
  Counter turns, ready;               ///< turns with drafts; turns with a ready first sentence
  Counter drafts;                     ///< rounds of drafting
  Counter drafted, accepted, wasted;  ///< tokens, as in DraftCounts
  Counter reflections;                ///< times that a model judged its draft
  /// sentences that were spoken ahead; those of them that were not used
  Counter spoken_ahead, spoken_in_vain;
  /// Estimated seconds of waiting that were saved in turns that were ready: the time to write and
  /// speak the sentence in the background, minus the time until the answer was heard.
  Counter saved_s;
};

/// Appends the counters in Prometheus' text format.
void write_predictions(const PredictionCounters& counters, std::string& out);

}  // namespace syrinx
