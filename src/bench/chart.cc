#include "bench/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/check.h"
#include "bench/report.h"

namespace syrinx {
namespace {

constexpr double kWidth = 560, kHeight = 300;
constexpr double kLeft = 56, kRight = 14, kTop = 34, kBottom = 64;
constexpr int kColours = 6;

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

struct Frame {
  double x_low, x_high, y_low, y_high;
  double x(double value) const {
    return kLeft + (value - x_low) / (x_high - x_low) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom - (value - y_low) / (y_high - y_low) * (kHeight - kTop - kBottom);
  }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const char* extra = "") {
  return concat("<text x=\"", coordinate(x), "\" y=\"", coordinate(y), "\" text-anchor=\"", anchor,
                "\" ", extra, ">", html_escaped(text), "</text>\n");
}

std::string line_at(double x1, double y1, double x2, double y2, const char* style) {
  return concat("<line x1=\"", coordinate(x1), "\" y1=\"", coordinate(y1), "\" x2=\"",
                coordinate(x2), "\" y2=\"", coordinate(y2), "\" ", style, "/>\n");
}

std::string path_of(const Series& series, const Frame& frame) {
  std::string path;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const auto& [x, y] = series.points[i];
    if (series.steps && i > 0) path += concat("H", coordinate(frame.x(x)));
    path += concat(i == 0 ? "M" : "L", coordinate(frame.x(x)), " ", coordinate(frame.y(y)));
  }
  return path;
}

std::string draw(const Series& series, const Frame& frame) {
  const std::string colour = concat("var(--line-", series.colour % kColours, ")");
  std::string out;
  if (series.line && !series.points.empty()) {
    out += concat("<path d=\"", path_of(series, frame), "\" fill=\"none\" stroke=\"", colour,
                  "\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n");
  }
  // A line of many points is a curve and needs no dots.
  constexpr size_t kDotted = 40;
  if (series.line && series.points.size() > kDotted) return out;
  for (const auto& [x, y] : series.points) {
    out += concat("<circle cx=\"", coordinate(frame.x(x)), "\" cy=\"", coordinate(frame.y(y)),
                  "\" r=\"", series.line ? "3.5" : "2.2", "\" fill=\"", colour, "\"><title>",
                  html_escaped(series.name), " ", tick_text(x), ": ", tick_text(y),
                  "</title></circle>\n");
  }
  return out;
}

Frame frame_of(const Chart& chart) {
  constexpr double kMost = std::numeric_limits<double>::max();
  Frame frame{kMost, -kMost, chart.y_least, std::max(chart.y_most, chart.mark * 1.1)};
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      frame.x_low = std::min(frame.x_low, x), frame.x_high = std::max(frame.x_high, x);
      frame.y_low = std::min(frame.y_low, y), frame.y_high = std::max(frame.y_high, y);
    }
  }
  if (frame.x_low > frame.x_high) frame.x_low = 0, frame.x_high = 1;
  if (frame.x_low == frame.x_high) frame.x_low -= 0.5, frame.x_high += 0.5;
  if (frame.y_low >= frame.y_high) frame.y_high = frame.y_low + 1;
  return frame;
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  const double raw = (high - low) / std::max(count, 1);
  if (!(raw > 0) || !std::isfinite(raw)) return {low};
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (nice * power >= raw * 0.999) {
      step = nice * power;
      break;
    }
  }
  std::vector<double> out;
  for (double i = std::floor(low / step + 1e-9); i * step <= high + step * 0.999; ++i) {
    out.push_back(i * step);
  }
  return out;
}

std::string chart_svg(const Chart& chart) {
  Frame frame = frame_of(chart);
  const std::vector<double> rows = ticks(frame.y_low, frame.y_high, 5);
  frame.y_low = rows.front(), frame.y_high = std::max(rows.back(), rows.front() + 1e-12);
  std::string out =
      concat("<svg viewBox=\"0 0 ", kWidth, " ", kHeight, "\" role=\"img\" aria-label=\"",
             html_escaped(chart.title), "\" font-size=\"12\" fill=\"var(--ink)\">\n");
  out += text_at(kLeft, 18, "start", chart.title, "font-weight=\"600\" font-size=\"14\"");
  for (const double value : rows) {
    const double y = frame.y(value);
    out += line_at(kLeft, y, kWidth - kRight, y, "stroke=\"var(--faint)\"");
    out += text_at(kLeft - 6, y + 4, "end", tick_text(value));
  }
  for (const double value : ticks(frame.x_low, frame.x_high, 8)) {
    if (value < frame.x_low - 1e-9 || value > frame.x_high + 1e-9) continue;
    out += text_at(frame.x(value), kHeight - kBottom + 16, "middle", tick_text(value));
  }
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - kBottom + 33, "middle", chart.x_label);
  out +=
      concat("<text transform=\"translate(13 ", coordinate((kTop + kHeight - kBottom) / 2),
             ") rotate(-90)\" text-anchor=\"middle\">", html_escaped(chart.y_label), "</text>\n");
  if (chart.mark > 0) {
    const double y = frame.y(chart.mark);
    out += line_at(kLeft, y, kWidth - kRight, y, "stroke=\"var(--ink)\" stroke-dasharray=\"5 4\"");
    out += text_at(kWidth - kRight, y - 5, "end", chart.mark_label);
  }
  double legend_x = kLeft;
  for (const Series& series : chart.series) {
    out += draw(series, frame);
    const double y = kHeight - 12;
    out += concat("<rect x=\"", coordinate(legend_x), "\" y=\"", coordinate(y - 9),
                  "\" width=\"10\" height=\"10\" rx=\"2\" fill=\"var(--line-",
                  series.colour % kColours, ")\"/>\n");
    out += text_at(legend_x + 15, y, "start", series.name);
    legend_x += 28 + 6.6 * static_cast<double>(series.name.size());
  }
  return out + "</svg>\n";
}

}  // namespace syrinx
