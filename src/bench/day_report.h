// Reports of a planned day as text, JSON and HTML. Plain data to text; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/day_plan.h"

namespace syrinx {

struct DayReport {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  ServiceTargets targets;
  DayResult day;
  /// The worker's curve of a computed day; empty for a day simulated request by request.
  std::vector<CurvePoint> curve;
};

/// Returns the report as a table for a terminal.
std::string day_text(const DayReport& report);
/// Returns the report as one JSON object.
std::string day_json(const DayReport& report);
/// Returns the report as a page with charts, without external files.
std::string day_html(const DayReport& report);

}  // namespace syrinx
