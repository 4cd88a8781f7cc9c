// The summary of a run of `bench --predict`, and its HTML page. Plain data; any thread.
#pragma once

#include <vector>

#include "bench/rehearsal.h"

namespace syrinx {

/// Statistics of some numbers.
struct Spread {
  double mean = 0, median = 0, p90 = 0;
};
/// Computes the spread by nearest rank; all zeros without values.
Spread spread_of(std::vector<double> values);

/// Figures of all turns of one run; times in seconds.
struct RehearsalSummary {
  int turns = 0, failed = 0, silent = 0;
  Spread sentence_s, audio_s, forwards;
  double at_once = 0, ready = 0;  ///< shares of the answered turns: with forwards 1, counts.ready
  double same = 0;                ///< share of turns with the same answer as in the run `first`
  DraftCounts tokens;
  int reflections = 0, spoken_ahead = 0, spoken_in_vain = 0;
};
/// Computes the figures; `first` is the run without prediction.
RehearsalSummary summary_of(const RehearsalRun& run, const RehearsalRun& first);

/// Returns an HTML page with a table and charts, without external files.
std::string rehearsal_html(const std::vector<RehearsalRun>& runs, const std::string& title);

}  // namespace syrinx
