#include "text/english/tables.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "text/english/chars.h"
#include "text/english/currencies.h"
#include "text/utf8.h"

namespace syrinx::english {
namespace {

/// Returns the byte that fold() writes for a sign; 0 if fold() writes no single byte for it.
char folded_byte(char32_t code) {
  switch (code) {
    case 0x2013:
      return kEnDash;
    case 0x2014:
      return kPause;
    case 0xB0:
      return kDegree;
    case 0xB5:
      return kMicro;
    case 0xD7:
      return kTimes;
    default:
      return currency_byte(code);
  }
}

int parsed(std::string_view digits, int base, std::string_view cell) {
  int value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  SYRINX_CHECK(error == std::errc() && end == digits.data() + digits.size(),
               "not a number in a table of the English reader: ", cell);
  return value;
}

}  // namespace

std::vector<std::string_view> data_lines(std::string_view data) {
  std::vector<std::string_view> lines;
  for (const std::string_view line : split(data, '\n')) {
    if (!line.empty() && !line.starts_with("# ")) lines.push_back(line);
  }
  return lines;
}

std::string with_folded_signs(std::string_view utf8) {
  std::string out;
  for (size_t at = 0; at < utf8.size();) {
    const CodePoint point = utf8_at(utf8, at);
    const char byte = point.value < 0x80 ? '\0' : folded_byte(point.value);
    if (byte != 0) {
      out += byte;
    } else {
      out += utf8.substr(at, point.size);
    }
    at += point.size;
  }
  return out;
}

std::vector<Cells> table_cells(std::string_view data, size_t needed, size_t columns) {
  std::vector<Cells> rows;
  for (const std::string_view line : data_lines(data)) {
    Cells cells;
    for (const std::string_view cell : split(line, '\t')) cells.push_back(with_folded_signs(cell));
    SYRINX_CHECK(cells.size() >= needed && cells.size() <= columns && !cells[0].empty() &&
                     line.back() != ' ' && line.back() != '\t',
                 "expected ", needed, " to ", columns,
                 " cells in a line of a table of the English reader: ", line);
    cells.resize(columns);
    rows.push_back(std::move(cells));
  }
  return rows;
}

size_t choice(std::string_view cell, std::initializer_list<std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), cell);
  SYRINX_CHECK(found != words.end(), "unknown word in a table of the English reader: ", cell);
  return static_cast<size_t>(found - words.begin());
}

int number_in(std::string_view cell) { return parsed(cell, 10, cell); }

char32_t code_point_in(std::string_view cell) {
  SYRINX_CHECK(cell.starts_with("U+"), "expected U+... in a table of the English reader: ", cell);
  return static_cast<char32_t>(parsed(cell.substr(2), 16, cell));
}

}  // namespace syrinx::english
