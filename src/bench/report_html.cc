#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "bench/chart.h"
#include "bench/report.h"

namespace syrinx {
namespace {

constexpr size_t kMostDots = 3000;    // most dots of a chart; further dots are left out evenly
constexpr size_t kCurvePoints = 200;  // points of the curve of a distribution
constexpr size_t kMostCurves = 5;

const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fbfaf7; --card: #ffffff; --ink: #23262b; --soft: #666c75;
  --faint: #e4e2dc; --good: #1a7f4b; --bad: #b3261e; --line-0: #1f6f8b; --line-1: #d1711c;
  --line-2: #7a4fa3; --line-3: #2f8f5b; --line-4: #b3364f; --line-5: #8a7a1f; }
@media (prefers-color-scheme: dark) { :root { --page: #15171a; --card: #1d2024; --ink: #e6e4df;
  --soft: #9aa0a8; --faint: #34383e; --good: #5fce95; --bad: #ff8a80; --line-0: #63b9d6;
  --line-1: #f0a35c; --line-2: #bd97e6; --line-3: #6fd39c; --line-4: #f07f93; --line-5: #d6c45f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1440px; padding: 28px 20px 60px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 34px 0 10px; }
p, dl { margin: 4px 0; color: var(--soft); } strong { color: var(--ink); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 14px; font-size: 14px; }
dt { color: var(--ink); } dd { margin: 0; overflow-wrap: anywhere; }
.card { background: var(--card); border: 1px solid var(--faint); border-radius: 10px;
  padding: 14px; overflow-x: auto; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(400px, 1fr)); gap: 16px; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { text-align: right; padding: 5px 6px; border-bottom: 1px solid var(--faint);
  white-space: nowrap; } th { white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; } tr:last-child td { border-bottom: 0; }
th { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
)";

std::string cell(const std::string& text, const char* kind = "") {
  return concat("<td", *kind ? " class=\"" : "", kind, *kind ? "\"" : "", ">", html_escaped(text),
                "</td>");
}

std::string fixed1(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string table(const Report& report) {
  std::string out = "<div class=\"card\"><table><tr>";
  for (const char* title :
       {"load",        "requests",    "failed",        "first audio p50",  "p90",
        "p95",         "p99",         "audible p90",   "no underrun",      "&le; 50 ms",
        "&le; 100 ms", "&le; 200 ms", "viable chunks", "longest underrun", "end to end p50",
        "RTF p50",     "audio s/s",   "good",          "goodput",          "targets"}) {
    out += concat("<th>", title, "</th>");
  }
  out += "</tr>\n";
  for (const LoadSummary& s : report.summaries) {
    out += "<tr>" + cell(point_name(s.point)) + cell(std::to_string(s.requests)) +
           cell(std::to_string(s.failed), s.failed > 0 ? "bad" : "") +
           cell(time_text(s.first_audio.p50)) + cell(time_text(s.first_audio.p90)) +
           cell(time_text(s.first_audio.p95)) + cell(time_text(s.first_audio.p99)) +
           cell(s.audible.count > 0 ? time_text(s.audible.p90) : "-") + cell(share_text(s.smooth)) +
           cell(share_text(s.smooth_50ms)) + cell(share_text(s.smooth_100ms)) +
           cell(share_text(s.smooth_200ms)) + cell(share_text(s.viable_chunks)) +
           cell(time_text(s.longest_underrun.max)) + cell(time_text(s.total.p50)) +
           cell(concat(std::round(s.rtf.p50 * 1000) / 1000)) + cell(fixed1(s.audio_per_s)) +
           cell(share_text(s.good)) + cell(fixed1(s.goodput) + " req/s") +
           cell(s.holds ? "held" : "missed", s.holds ? "good" : "bad") + "</tr>\n";
  }
  return out + "</table></div>\n";
}

/// Returns the runs sorted by load, for curves over the load.
std::vector<const LoadSummary*> by_level(const Report& report) {
  std::vector<const LoadSummary*> out;
  for (const LoadSummary& summary : report.summaries) out.push_back(&summary);
  std::stable_sort(out.begin(), out.end(), [](const LoadSummary* a, const LoadSummary* b) {
    return a->point.level < b->point.level;
  });
  return out;
}

std::string level_label(const Report& report) {
  switch (report.summaries.front().point.kind) {
    case LoadKind::kRate:
      return "requests a second";
    case LoadKind::kStreams:
      return "streams";
    case LoadKind::kRealtime:
      return "listeners";
    case LoadKind::kTrace:
      return "speed of the trace";
  }
  return "";
}

std::string over_load(const Report& report) {
  Chart times{.title = "First audio by load",
              .x_label = level_label(report),
              .y_label = "ms",
              .series = {{"p50", {}, 0}, {"p90", {}, 1}, {"p99", {}, 2}},
              .mark = 1e3 * report.targets.first_audio_s,
              .mark_label = "target"};
  Chart shares{.title = "Served well, by load",
               .x_label = level_label(report),
               .y_label = "%",
               .series = {{"no underrun", {}, 3}, {"and in time", {}, 1}},
               .y_most = 100};
  Chart audio{.title = "Audio received, by load",
              .x_label = level_label(report),
              .y_label = "seconds of audio a second",
              .series = {{"audio", {}, 0}}};
  for (const LoadSummary* s : by_level(report)) {
    const double level = s->point.level;
    times.series[0].points.emplace_back(level, 1e3 * s->first_audio.p50);
    times.series[1].points.emplace_back(level, 1e3 * s->first_audio.p90);
    times.series[2].points.emplace_back(level, 1e3 * s->first_audio.p99);
    shares.series[0].points.emplace_back(level, 100 * s->smooth);
    shares.series[1].points.emplace_back(level, 100 * s->good);
    audio.series[0].points.emplace_back(level, s->audio_per_s);
  }
  std::string out;
  for (const Chart& chart : {times, shares, audio}) {
    out += "<div class=\"card\">" + chart_svg(chart) + "</div>\n";
  }
  return out;
}

/// Returns the curve of the share of requests whose value is at most x, with few points.
Series distribution(const std::string& name, std::vector<double> values, int colour) {
  std::sort(values.begin(), values.end());
  Series out{name, {}, colour};
  const size_t count = std::min(values.size(), kCurvePoints);
  for (size_t i = 0; i < count; ++i) {
    const double p = count == 1 ? 1 : static_cast<double>(i) / static_cast<double>(count - 1);
    out.points.emplace_back(1e3 * percentile(values, p), 100 * p);
  }
  return out;
}

std::string distributions(const Report& report) {
  Chart chart{
      .title = "First audio, share of requests", .x_label = "ms", .y_label = "%", .y_most = 100};
  // Shows only the heaviest loads if there would be too many curves.
  const size_t first = report.runs.size() > kMostCurves ? report.runs.size() - kMostCurves : 0;
  for (size_t i = first; i < report.runs.size(); ++i) {
    std::vector<double> values;
    for (const RequestRecord& record : report.runs[i].requests) {
      if (record.ok() && !record.warmup) values.push_back(*record.first_audio_s);
    }
    chart.series.push_back(distribution(point_name(report.runs[i].point), std::move(values),
                                        static_cast<int>(i - first)));
  }
  return "<div class=\"card\">" + chart_svg(chart) + "</div>\n";
}

std::string over_time(const LoadResult& run) {
  Chart dots{.title = point_name(run.point) + ": first audio over time",
             .x_label = "seconds",
             .y_label = "ms",
             .series = {{"no underrun", {}, 0, false}, {"underrun", {}, 4, false}}};
  Chart flight{.title = point_name(run.point) + ": requests under way",
               .x_label = "seconds",
               .y_label = "requests",
               .series = {{"under way", {}, 0, true, true}}};
  const size_t every = run.requests.size() / kMostDots + 1;
  std::vector<std::pair<double, int>> changes;
  for (size_t i = 0; i < run.requests.size(); ++i) {
    const RequestRecord& record = run.requests[i];
    changes.emplace_back(record.due_s, 1);
    changes.emplace_back(record.due_s + record.total_s, -1);
    if (!record.ok() || i % every != 0) continue;
    dots.series[record.playback.viable() ? 0 : 1].points.emplace_back(record.due_s,
                                                                      1e3 * *record.first_audio_s);
  }
  std::sort(changes.begin(), changes.end());
  int running = 0;
  const size_t thin = changes.size() / kMostDots + 1;
  for (size_t i = 0; i < changes.size(); ++i) {
    running += changes[i].second;
    if (i % thin == 0) flight.series[0].points.emplace_back(changes[i].first, running);
  }
  return "<div class=\"card\">" + chart_svg(dots) + "</div>\n<div class=\"card\">" +
         chart_svg(flight) + "</div>\n";
}

/// Draws charts over time for the last run, which in a search is the confirmation.
std::string charts(const Report& report) {
  std::string out = "<h2>Charts</h2>\n<div class=\"charts\">\n";
  if (report.summaries.size() > 1) out += over_load(report);
  return out + distributions(report) + over_time(report.runs.back()) + "</div>\n";
}

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

std::string html_page(const std::string& title, const std::string& program,
                      const std::vector<std::pair<std::string, std::string>>& facts,
                      const std::string& body) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      html_escaped(title) + " - " + program + "</title>\n<style>" + kStyle +
      "</style>\n</head>\n<body>\n<h1>" + html_escaped(title) + "</h1>\n";
  if (!facts.empty()) out += "<dl>\n";
  for (const auto& [name, value] : facts) {
    out += "<dt>" + html_escaped(name) + "</dt><dd>" + html_escaped(value) + "</dd>\n";
  }
  return out + (facts.empty() ? "" : "</dl>\n") + body + "</body>\n</html>\n";
}

std::string report_html(const Report& report) {
  const auto page = [&](const std::string& body) {
    return html_page(report.title, "syrinx bench", report.facts, body);
  };
  if (report.summaries.empty()) return page("<p>Nothing was measured.</p>\n");
  std::string out = "<h2>Loads</h2>\n" + table(report) + "<p>Good: first audio within " +
                    html_escaped(time_text(report.targets.first_audio_s)) +
                    " and no underrun.</p>\n";
  const std::string remarks = remarks_text(report);
  for (size_t begin = 0; begin < remarks.size();) {
    const size_t end = remarks.find('\n', begin);
    out += "<p><strong>" + html_escaped(remarks.substr(begin, end - begin)) + "</strong></p>\n";
    begin = end + 1;
  }
  return page(out + charts(report));
}

}  // namespace syrinx
