// Draws line and point charts as SVG, in the colours of the page that contains them (CSS variables
// --line-0 .. --line-5, --ink, --faint). Plain data to text; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace syrinx {

/// Points of one colour.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  int colour = 0;
  bool line = true;    ///< join the points by a line; otherwise draw dots
  bool steps = false;  ///< the line keeps its value until the next point
};

/// A chart with its axes; limits and marks in the units of the axes.
struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series = {};
  double y_least = 0;  ///< the axis begins at this value or below
  double y_most = 0;   ///< the axis ends at this value or above
  double mark = 0;     ///< value of a dashed horizontal line; 0 means no line
  std::string mark_label = {};
};

/// Returns an <svg> element; escapes names and labels.
std::string chart_svg(const Chart& chart);

/// Returns about `count` round numbers that cover [low, high], ascending; for axes.
std::vector<double> ticks(double low, double high, int count);

}  // namespace syrinx
