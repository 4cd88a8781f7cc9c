// Counters of predictions since the process began, for monitoring. Counters have one writer; any
// thread may read them.
#pragma once

#include <string>

#include "engine/metrics.h"

namespace syrinx {

struct PredictionCounters {
  Counter turns, ready;               ///< turns with drafts; turns whose first sentence was ready
  Counter drafts;                     ///< number of rounds of drafting
  Counter drafted, accepted, wasted;  ///< numbers of tokens, as in DraftCounts
  Counter reflections;                ///< number of times that a model judged its draft
  /// sentences spoken ahead; the number of these that were not used
  Counter spoken_ahead, spoken_in_vain;
  /// Estimated seconds of waiting that ready turns saved: the time to write and speak the sentence
  /// in the background, minus the time until the client heard the answer.
  Counter saved_s;
};

/// Appends the counters in Prometheus' text format.
void write_predictions(const PredictionCounters& counters, std::string& out);

}  // namespace syrinx
