// A run of bench --predict in one line. Plain data; any thread.
#pragma once

#include <vector>

#include "bench/rehearsal.h"

namespace syrinx {

/// Statistics of some numbers.
struct Spread {
  double mean = 0, median = 0, p90 = 0;
};
/// Nearest rank; of nothing, nothing.
Spread spread_of(std::vector<double> values);

/// Sums over the turns of one run; times in seconds.
struct RehearsalSummary {
  int turns = 0, failed = 0, silent = 0;
  Spread sentence_s, audio_s, forwards;
  double at_once = 0, ready = 0;  ///< shares of the turns
  double same = 0;                ///< of the turns, those with the answer that `first` has
  DraftCounts tokens;
  int reflections = 0, spoken_ahead = 0, spoken_in_vain = 0;
};
/// `first` is the run without prediction.
RehearsalSummary summary_of(const RehearsalRun& run, const RehearsalRun& first);

/// One page with a table and charts that needs nothing else.
std::string rehearsal_html(const std::vector<RehearsalRun>& runs, const std::string& title);

}  // namespace syrinx
