// Tables for terminals. Plain data to text; any thread.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

struct Column {
  std::string title;
  std::vector<std::string> cells;
};
/// The first column to the left, all others to the right. At least one column, all as long.
std::string aligned(const std::vector<Column>& columns);

/// Formats a number with `digits` digits after the point.
std::string fixed(double value, int digits);

}  // namespace syrinx
