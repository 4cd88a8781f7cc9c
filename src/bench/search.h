// Finds the highest load that a server holds. A pure algorithm: the caller tries the loads.
#pragma once

#include <functional>
#include <vector>

namespace syrinx {

/// Range and precision of a search.
struct SearchOptions {
  double start = 1;         ///< the first load that is tried; > 0
  double most = 100'000;    ///< highest load that is tried
  double precision = 0.05;  ///< precision of the result, as a share of it
  bool whole = false;       ///< true: loads are whole numbers (of clients)
  int confirmations = 6;    ///< how often the load is lowered after a failed confirmation
};

/// The result of a search.
struct SearchOutcome {
  double best = 0;         ///< 0: not even the smallest load was held
  bool confirmed = false;  ///< `best` held in a separate run after the search
  bool limited = false;    ///< `most` held; the server may hold more
};

/// Searches for the highest load: doubles `start` until a load fails (or halves it until a load
/// holds), bisects, and confirms the result. `holds(load, confirm)` tries one load; with `confirm`,
/// in a longer run.
SearchOutcome search_highest(const SearchOptions& options,
                             const std::function<bool(double load, bool confirm)>& holds);

}  // namespace syrinx
