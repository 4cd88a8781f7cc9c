#include "bench/text_table.h"

#include <algorithm>
#include <cstdio>

namespace syrinx {

std::string aligned(const std::vector<Column>& columns) {
  const size_t rows = columns.front().cells.size();
  std::string out;
  for (size_t row = 0; row <= rows; ++row) {
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto cell = [&](size_t r) {
        return r == 0 ? columns[c].title : columns[c].cells[r - 1];
      };
      size_t width = 0;
      for (size_t r = 0; r <= rows; ++r) width = std::max(width, cell(r).size());
      const std::string text = cell(row), gap(width - text.size(), ' ');
      out += c == 0 ? text + gap : "  " + gap + text;
    }
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  return out;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace syrinx
