// Measurements for people and programs: a table for terminals, JSON, and one HTML file that needs
// nothing else. Plain data to text; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/search.h"
#include "bench/summary.h"

namespace syrinx {

/// Everything of one call of `syrinx bench` or `syrinx simulate`.
struct Report {
  std::string title;                                       ///< "finch in this process"
  std::vector<std::pair<std::string, std::string>> facts;  ///< "arrivals": "Poisson, seed 0"
  ServiceTargets targets;
  std::vector<LoadResult> runs;
  std::vector<LoadSummary> summaries;  ///< one for each run
  bool searched = false;
  SearchOutcome search;  ///< when searched
};

/// "8.2 ms", "1.25 s", "38 s"; "-" for times beyond measure.
std::string time_text(double seconds);
/// "99.5 %"; never rounds up to 100 % or down to 0 %.
std::string share_text(double share);

/// One line per run under a heading, aligned.
std::string table_text(const std::vector<LoadSummary>& summaries, const ServiceTargets& targets);
/// What a table has no room for: failures, a late generator, the result of a search.
std::string remarks_text(const Report& report);

/// With every request when `requests`.
std::string report_json(const Report& report, bool requests);
/// A page with tables and charts, without external files.
std::string report_html(const Report& report);

/// A whole page in the style of all reports; `body` is HTML.
std::string html_page(const std::string& title, const std::string& program,
                      const std::vector<std::pair<std::string, std::string>>& facts,
                      const std::string& body);

/// Text as it may stand in HTML, attributes included.
std::string html_escaped(const std::string& text);

}  // namespace syrinx
