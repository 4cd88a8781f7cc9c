// Reports of measurements: a table for terminals, JSON, and one HTML file without external files.
// Plain data to text; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/search.h"
#include "bench/summary.h"

namespace syrinx {

/// All results of one call of `syrinx bench` or `syrinx simulate`.
struct Report {
  std::string title;                                       ///< e.g. "finch in this process"
  std::vector<std::pair<std::string, std::string>> facts;  ///< e.g. "arrivals": "Poisson, seed 0"
  ServiceTargets targets;
  std::vector<LoadResult> runs;
  std::vector<LoadSummary> summaries;  ///< a summary for each run
  bool searched = false;
  SearchOutcome search;  ///< the result of a search, if one was made
};

/// Formats seconds, e.g. "8.2 ms", "1.25 s", "38 s"; "-" for infinite times.
std::string time_text(double seconds);
/// Formats a share, e.g. "99.5 %". Never rounds up to 100 % or down to 0 %.
std::string share_text(double share);

/// Returns a table with a heading and one line for each run.
std::string table_text(const std::vector<LoadSummary>& summaries, const ServiceTargets& targets);
/// Returns remarks that the table lacks: failures, a late generator, the result of a search.
std::string remarks_text(const Report& report);

/// Returns the report as JSON. With `requests`, includes the record of every request.
std::string report_json(const Report& report, bool requests);
/// Returns a page with tables and charts, without external files.
std::string report_html(const Report& report);

/// Returns a page in the style of all reports; `body` is HTML.
std::string html_page(const std::string& title, const std::string& program,
                      const std::vector<std::pair<std::string, std::string>>& facts,
                      const std::string& body);

/// Escapes text for HTML and for its attributes.
std::string html_escaped(const std::string& text);

}  // namespace syrinx
