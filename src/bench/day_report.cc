#include "bench/day_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "bench/chart.h"
#include "bench/report.h"
#include "bench/text_table.h"

namespace syrinx {
namespace {

using Json = nlohmann::ordered_json;

std::string time_of_day(double at_s) {
  const auto minutes = static_cast<int>(at_s / 60 + 1e-9);
  const std::string minute = concat(minutes % 60);
  return concat(minutes / 60, ":", minute.size() < 2 ? "0" : "", minute);
}

std::string whole_number(double value) { return fixed(std::round(value), 0); }

double share_of(double part, const DayRow& row) {
  return row.requests > 0 ? part / row.requests : 0;
}

std::vector<Column> columns_of(const DayResult& day) {
  std::vector<DayRow> rows = day.rows;
  rows.push_back(day.whole);
  std::vector<Column> columns;
  const auto add = [&](const char* title, auto cell) {
    columns.push_back({title, {}});
    for (const DayRow& row : rows) columns.back().cells.push_back(cell(row));
  };
  add("from", [](const DayRow& r) { return time_of_day(r.at_s); });
  columns.front().cells.back() = "all";
  add("requests/s", [](const DayRow& r) { return fixed(r.requests / r.for_s, 1); });
  add("workers", [](const DayRow& r) { return fixed(r.workers, 1); });
  add("used", [](const DayRow& r) { return share_text(r.used); });
  add("fullest", [](const DayRow& r) { return share_text(r.most_used); });
  add("first audio p50", [](const DayRow& r) { return time_text(r.p50_s); });
  add("p90", [](const DayRow& r) { return time_text(r.p90_s); });
  add("p99", [](const DayRow& r) { return time_text(r.p99_s); });
  add("good", [](const DayRow& r) { return share_text(share_of(r.good, r)); });
  add("refused", [](const DayRow& r) { return whole_number(r.refused); });
  add("cut", [](const DayRow& r) { return whole_number(r.cut); });
  return columns;
}

Json row_json(const DayRow& r) {
  return {{"at_s", r.at_s},
          {"for_s", r.for_s},
          {"requests", r.requests},
          {"ok", r.ok},
          {"good", r.good},
          {"refused", r.refused},
          {"cut", r.cut},
          {"first_audio_s", {{"p50", r.p50_s}, {"p90", r.p90_s}, {"p99", r.p99_s}}},
          {"audio_s", r.audio_s},
          {"workers", r.workers},
          {"workers_up", r.up},
          {"used", r.used},
          {"most_used", r.most_used}};
}

std::string sums(const DayReport& report) {
  const DayRow& whole = report.day.whole;
  const double worker_hours = whole.workers * whole.for_s / 3600;
  const double audio_hours = whole.audio_s / 3600;
  return concat(whole_number(whole.requests), " requests, ", whole_number(audio_hours),
                " hours of audio, ", fixed(worker_hours, 1),
                " worker hours: ", fixed(worker_hours > 0 ? audio_hours / worker_hours : 0, 1),
                " hours of audio per worker hour");
}

}  // namespace

std::string day_text(const DayReport& report) {
  std::string out = report.title;
  for (const auto& [name, value] : report.facts) out += " | " + name + ": " + value;
  return out + "\n\n" + aligned(columns_of(report.day)) + sums(report) +
         "\ngood: first audio within " + time_text(report.targets.first_audio_s) +
         " and no underrun\n";
}

std::string day_json(const DayReport& report) {
  Json facts = Json::object(), rows = Json::array(), curve = Json::array();
  for (const auto& [name, value] : report.facts) facts[name] = value;
  for (const DayRow& row : report.day.rows) rows.push_back(row_json(row));
  for (const CurvePoint& point : report.curve) {
    curve.push_back({{"rate", point.rate},
                     {"requests", point.requests},
                     {"ok", point.ok},
                     {"good", point.good},
                     {"audio_s", point.audio_s},
                     {"used", point.used},
                     {"predicted_wait_s", point.wait_s},
                     {"in_flight", point.in_flight},
                     {"playing", point.playing},
                     {"first_audio_s", point.first_audio}});
  }
  const Json out = {{"title", report.title},
                    {"facts", facts},
                    {"whole", row_json(report.day.whole)},
                    {"rows", rows},
                    {"curve", curve}};
  return out.dump(1) + "\n";
}

std::string day_html(const DayReport& report) {
  std::string body = "<h2>The day</h2>\n<div class=\"card\"><table>";
  const std::vector<Column> columns = columns_of(report.day);
  for (size_t row = 0; row <= columns.front().cells.size(); ++row) {
    body += "<tr>";
    for (const Column& column : columns) {
      body += row == 0 ? "<th>" + html_escaped(column.title) + "</th>"
                       : "<td>" + html_escaped(column.cells[row - 1]) + "</td>";
    }
    body += "</tr>\n";
  }
  body += "</table></div>\n<p>" + html_escaped(sums(report)) + "</p>\n<h2>Charts</h2>\n" +
          "<div class=\"charts\">\n";
  Chart load{.title = "Requests",
             .x_label = "hours",
             .y_label = "a second",
             .series = {{"requests", {}, 0}}};
  Chart workers{.title = "Workers",
                .x_label = "hours",
                .y_label = "workers",
                .series = {{"in the fleet", {}, 0}, {"taking requests", {}, 3}}};
  Chart times{.title = "First audio",
              .x_label = "hours",
              .y_label = "ms",
              .series = {{"p50", {}, 0}, {"p90", {}, 1}, {"p99", {}, 2}},
              .mark = 1e3 * report.targets.first_audio_s,
              .mark_label = "target"};
  Chart good{.title = "Served well",
             .x_label = "hours",
             .y_label = "%",
             .series = {{"good", {}, 1}},
             .y_most = 100};
  for (const DayRow& row : report.day.rows) {
    const double hour = (row.at_s + row.for_s / 2) / 3600;
    load.series[0].points.emplace_back(hour, row.requests / row.for_s);
    workers.series[0].points.emplace_back(hour, row.workers);
    workers.series[1].points.emplace_back(hour, row.up);
    times.series[0].points.emplace_back(hour, 1e3 * row.p50_s);
    times.series[1].points.emplace_back(hour, 1e3 * row.p90_s);
    times.series[2].points.emplace_back(hour, 1e3 * row.p99_s);
    good.series[0].points.emplace_back(hour, 100 * share_of(row.good, row));
  }
  for (const Chart& chart : {load, workers, times, good}) {
    body += "<div class=\"card\">" + chart_svg(chart) + "</div>\n";
  }
  return html_page(report.title, "syrinx simulate", report.facts, body + "</div>\n");
}

}  // namespace syrinx
