// The charts of `bench --predict`.
#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "bench/chart.h"
#include "bench/rehearsal_summary.h"
#include "bench/report.h"

namespace syrinx {
namespace {

std::string one_decimal(double value, const char* unit = "") {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f%s", value, unit);
  return text;
}

std::string rehearsal_rows(const std::vector<RehearsalRun>& runs) {
  std::string out = "<div class=\"card\"><table><tr>";
  for (const char* title :
       {"rule", "questions", "failed", "first sentence, mean", "p90", "forwards, mean", "at once",
        "first audio, mean", "p90", "times as fast", "ready", "same answer", "tokens drafted",
        "used", "wasted", "reflections", "sentences spoken but unused"}) {
    out += concat("<th>", title, "</th>");
  }
  out += "</tr>\n";
  const RehearsalSummary first = summary_of(runs.front(), runs.front());
  for (const RehearsalRun& run : runs) {
    const RehearsalSummary s = summary_of(run, runs.front());
    const double sooner = s.audio_s.mean > 0 ? first.audio_s.mean / s.audio_s.mean : 0;
    out += "<tr>";
    for (const std::string& text :
         {run.rule, std::to_string(s.turns), std::to_string(s.failed),
          one_decimal(1e3 * s.sentence_s.mean, " ms"), one_decimal(1e3 * s.sentence_s.p90, " ms"),
          one_decimal(s.forwards.mean), one_decimal(100 * s.at_once, " %"),
          one_decimal(1e3 * s.audio_s.mean, " ms"), one_decimal(1e3 * s.audio_s.p90, " ms"),
          one_decimal(sooner), one_decimal(100 * s.ready, " %"), one_decimal(100 * s.same, " %"),
          std::to_string(s.tokens.drafted), std::to_string(s.tokens.accepted),
          std::to_string(s.tokens.wasted), std::to_string(s.reflections),
          std::to_string(s.spoken_in_vain)}) {
      out += "<td>" + html_escaped(text) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

/// Draws the share of the answers whose figure is at most x, one curve for each drafting method.
std::string rehearsal_curves(const std::vector<RehearsalRun>& runs, Chart chart,
                             double (*figure)(const Rehearsal&)) {
  chart.y_label = "% of answers", chart.y_most = 100;
  for (size_t r = 0; r < runs.size(); ++r) {
    std::vector<double> values;
    for (const Rehearsal& turn : runs[r].turns) {
      if (turn.error.message.empty()) values.push_back(figure(turn));
    }
    std::sort(values.begin(), values.end());
    Series curve{runs[r].rule, {}, static_cast<int>(r), true, true};
    const auto count = static_cast<double>(values.size());
    if (!values.empty()) curve.points.emplace_back(values.front(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      curve.points.emplace_back(values[i], 100 * static_cast<double>(i + 1) / count);
    }
    chart.series.push_back(std::move(curve));
  }
  return "<div class=\"card\">" + chart_svg(chart) + "</div>\n";
}

/// Draws a dot for the figure of each question, in the order of the questions.
std::string by_question(const std::vector<RehearsalRun>& runs, Chart chart,
                        double (*figure)(const Rehearsal&), size_t from) {
  chart.x_label = "question";
  for (size_t r = from; r < runs.size(); ++r) {
    Series dots{runs[r].rule, {}, static_cast<int>(r), false};
    for (size_t i = 0; i < runs[r].turns.size(); ++i) {
      dots.points.emplace_back(static_cast<double>(i + 1), figure(runs[r].turns[i]));
    }
    chart.series.push_back(std::move(dots));
  }
  return "<div class=\"card\">" + chart_svg(chart) + "</div>\n";
}

}  // namespace

std::string rehearsal_html(const std::vector<RehearsalRun>& runs, const std::string& title) {
  const auto audio_ms = [](const Rehearsal& turn) { return 1e3 * turn.audio_s; };
  const auto sentence_ms = [](const Rehearsal& turn) { return 1e3 * turn.sentence_s; };
  const auto forwards = [](const Rehearsal& turn) { return static_cast<double>(turn.forwards); };
  const auto wasted = [](const Rehearsal& turn) { return static_cast<double>(turn.counts.wasted); };
  std::string charts =
      rehearsal_curves(runs, {.title = "First audio", .x_label = "ms", .y_label = ""}, audio_ms) +
      rehearsal_curves(runs, {.title = "First sentence", .x_label = "ms", .y_label = ""},
                       sentence_ms);
  const bool counted = std::any_of(runs.front().turns.begin(), runs.front().turns.end(),
                                   [](const Rehearsal& turn) { return turn.forwards > 0; });
  if (counted) {
    charts += rehearsal_curves(
        runs, {.title = "Forwards until the first sentence", .x_label = "batches", .y_label = ""},
        forwards);
  }
  charts +=
      by_question(runs, {.title = "First audio", .x_label = "", .y_label = "ms"}, audio_ms, 0);
  charts += by_question(
      runs, {.title = "Tokens drafted but unused", .x_label = "", .y_label = "tokens"}, wasted, 1);
  return html_page(title, "syrinx bench", {},
                   "<p>Times count from the end of the question. Same answer: as without "
                   "prediction.</p>\n" +
                       rehearsal_rows(runs) + "<h2>Charts</h2>\n<div class=\"charts\">\n" + charts +
                       "</div>\n");
}

}  // namespace syrinx
