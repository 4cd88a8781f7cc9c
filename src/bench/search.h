// Finds the highest load at which a server meets its targets. Pure: the caller tries the loads.
#pragma once

#include <functional>
#include <vector>

namespace syrinx {

/// Range and precision of a search.
struct SearchOptions {
  double start = 1;         ///< the first load to try; above 0
  double most = 100'000;    ///< highest load that is tried
  double precision = 0.05;  ///< precision of the result, as a share of the result
  bool whole = false;       ///< loads are whole numbers (of clients)
  int confirmations = 6;    ///< how often the load is lowered after a failed confirmation
};

/// The result of a search.
struct SearchOutcome {
  double best = 0;         ///< 0 if even the smallest load failed
  bool confirmed = false;  ///< `best` also succeeded in a separate run after the search
  bool limited = false;    ///< `most` succeeded; the server may support more
};

/// Searches for the highest load: doubles `start` until a load fails (or halves it until a load
/// succeeds), bisects, and confirms the result. `holds(load, confirm)` tries one load and returns
/// whether it met the targets; with `confirm`, in a longer run.
SearchOutcome search_highest(const SearchOptions& options,
                             const std::function<bool(double load, bool confirm)>& holds);

}  // namespace syrinx
