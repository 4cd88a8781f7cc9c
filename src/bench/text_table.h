// Tables for terminals. Plain data to text; any thread.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

struct Column {
  std::string title;
  std::vector<std::string> cells;
};
/// Formats a table: the first column is left-aligned, all others right-aligned. Needs at least one
/// column; all columns must have the same length.
std::string aligned(const std::vector<Column>& columns);

/// Formats a number with `digits` digits after the point.
std::string fixed(double value, int digits);

}  // namespace syrinx
