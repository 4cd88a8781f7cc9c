// What prediction has done in a process so far, for monitoring. Counters have one writer
// and are read by any thread.
#pragma once

#include <string>

#include "engine/metrics.h"

namespace syrinx {

struct PredictionCounters {
  Counter turns, ready;                  ///< that were drafted for; whose first sentence was ready
  Counter drafts;                        ///< rounds
  Counter drafted, accepted, wasted;     ///< tokens, as in DraftCounts
  Counter reflections;                   ///< times that a model was asked about its draft
  Counter spoken_ahead, spoken_in_vain;  ///< first sentences
  /// Seconds of turns that were ready: the time that writing and speaking the sentence took in the
  /// background, less what the answer took until it was heard. An estimate of what was not waited.
  Counter saved_s;
};

/// Appends them in Prometheus' text format.
void write_predictions(const PredictionCounters& counters, std::string& out);

}  // namespace syrinx
