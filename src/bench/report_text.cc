#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "bench/report.h"
#include "bench/text_table.h"

namespace syrinx {
namespace {

constexpr double kBeyondMeasure_s = 1e9;

/// Formats a value with three significant digits.
std::string brief(double value) { return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

}  // namespace

std::string time_text(double seconds) {
  if (!(seconds < kBeyondMeasure_s)) return "-";
  const double ms = 1e3 * seconds;
  if (ms < 0.05) return "0 ms";
  if (ms < 999.5) return fixed(ms, ms < 9.95 ? 1 : 0) + " ms";
  return fixed(seconds, seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0) + " s";
}

std::string share_text(double share) {
  const double percent = 100 * share;
  if (share >= 1) return "100 %";
  if (share <= 0) return "0 %";
  return fixed(std::clamp(percent, 0.1, 99.9), 1) + " %";
}

std::string table_text(const std::vector<LoadSummary>& summaries, const ServiceTargets& targets) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& title, auto&& cell) {
    columns.push_back({title, {}});
    for (const LoadSummary& run : summaries) columns.back().cells.push_back(cell(run));
  };
  add("load", [](const LoadSummary& r) { return point_name(r.point); });
  add("requests", [](const LoadSummary& r) { return std::to_string(r.requests); });
  const bool failures = std::any_of(summaries.begin(), summaries.end(),
                                    [](const LoadSummary& r) { return r.failed > 0; });
  if (failures) add("failed", [](const LoadSummary& r) { return std::to_string(r.failed); });
  add("first audio p50", [](const LoadSummary& r) { return time_text(r.first_audio.p50); });
  add("p90", [](const LoadSummary& r) { return time_text(r.first_audio.p90); });
  add("p99", [](const LoadSummary& r) { return time_text(r.first_audio.p99); });
  const bool audible = std::any_of(summaries.begin(), summaries.end(),
                                   [](const LoadSummary& r) { return r.audible.count > 0; });
  if (audible) add("audible p90", [](const LoadSummary& r) { return time_text(r.audible.p90); });
  add("no underrun", [](const LoadSummary& r) { return share_text(r.smooth); });
  add("<= 100 ms", [](const LoadSummary& r) { return share_text(r.smooth_100ms); });
  add("longest", [](const LoadSummary& r) { return time_text(r.longest_underrun.max); });
  add("audio/s", [](const LoadSummary& r) { return brief(r.audio_per_s) + " s"; });
  add("RTF p50", [](const LoadSummary& r) { return fixed(r.rtf.p50, r.rtf.p50 < 0.1 ? 3 : 2); });
  add("good", [](const LoadSummary& r) { return share_text(r.good); });
  add("goodput", [](const LoadSummary& r) { return brief(r.goodput) + " req/s"; });
  return aligned(columns) + "good: first audio within " + time_text(targets.first_audio_s) +
         " and no underrun\n";
}

std::string remarks_text(const Report& report) {
  std::string out;
  for (const LoadSummary& run : report.summaries) {
    if (run.failed > 0) {
      out += point_name(run.point) + ": ";
      for (const auto& [kind, count] : run.failures) out += concat(count, " ", kind, ", ");
      out += "the first failure: " + run.first_failure + "\n";
    }
    if (run.lag.p99 > kLateGenerator_s) {
      out += point_name(run.point) + ": the generator itself was late by up to " +
             time_text(run.lag.p99) + " (p99); times below this do not describe the server\n";
    }
  }
  if (!report.searched) return out;
  const ServiceTargets& targets = report.targets;
  const std::string what =
      concat("first audio p", 100 * targets.percentile, " <= ", time_text(targets.first_audio_s),
             ", ", share_text(targets.viable), " without failure or underrun");
  const LoadKind kind = report.summaries.empty() ? LoadKind::kRate : report.summaries[0].point.kind;
  if (report.search.best <= 0) {
    out += report.summaries.empty() ? "no load was tried\n" : "no load met: " + what + "\n";
  } else {
    out += (report.search.limited ? "at least " : "") + point_name({kind, report.search.best}) +
           " met: " + what + " (confirmed by a separate run)\n";
  }
  return out;
}

}  // namespace syrinx
