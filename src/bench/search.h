// Finds the highest load that a server holds. A pure algorithm: how a load is tried is the
// caller's.
#pragma once

#include <functional>
#include <vector>

namespace syrinx {

/// Where a search goes, and how finely.
struct SearchOptions {
  double start = 1;         ///< the first load that is tried; > 0
  double most = 100'000;    ///< never more than this
  double precision = 0.05;  ///< of the answer, as a share of it
  bool whole = false;       ///< loads are whole numbers (clients)
  int confirmations = 6;    ///< how often the load is lowered when a confirmation fails
};

/// The highest load that held, as far as it was looked for.
struct SearchOutcome {
  double best = 0;         ///< 0: not even the smallest load was held
  bool confirmed = false;  ///< by a run of its own, after the search
  bool limited = false;    ///< `most` was held; the server may hold more
};

/// `holds(load, confirm)` tries one load; `confirm` asks for the longer run that the answer rests
/// on. Doubles from `start` until a load fails (or halves until one holds), bisects, confirms.
SearchOutcome search_highest(const SearchOptions& options,
                             const std::function<bool(double load, bool confirm)>& holds);

}  // namespace syrinx
