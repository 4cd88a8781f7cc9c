#include "cli/line/toml_lines.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "base/check.h"
#include "io/file.h"

namespace syrinx {
namespace {

struct TomlLine {
  std::string text;        ///< the line without its comment
  size_t equals = 0;       ///< first byte of the value, after '='; 0 without '='
  int depth = 0;           ///< number of '[' minus number of ']'
  bool in_quotes = false;  ///< the line ends within quotes
};

/// Reads a line. `in_value`: the line continues a list.
TomlLine read_toml_line(std::string_view line, bool in_value) {
  TomlLine out;
  char quote = 0;
  for (size_t i = 0; i < line.size() && (quote != 0 || line[i] != '#'); ++i) {
    const char c = line[i];
    out.text += c;
    if (quote == '"' && c == '\\' && i + 1 < line.size()) {
      out.text += line[++i];
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '=' && out.equals == 0) {
      out.equals = out.text.size();
    } else if (in_value || out.equals > 0) {
      out.depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
  }
  out.in_quotes = quote != 0;
  return out;
}

}  // namespace

std::string toml_lines(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::string> lines;
  const auto fault = [&](size_t line, const std::string& what) {
    return CLI::ConfigError(concat(file, ":", line, ": ", what));
  };
  size_t first = 0;  // line at which an open list began, from 1; 0 without one
  int depth = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const TomlLine read = read_toml_line(line, depth > 0);
    const std::string_view kept = trimmed(read.text);
    lines.emplace_back(depth > 0 ? "" : kept);
    if (read.in_quotes) throw fault(lines.size(), "a quoted string does not end on its line");
    if (depth > 0) {
      lines[first - 1] += " " + std::string(kept);
    } else if (kept.starts_with('[')) {
      if (!kept.ends_with(']'))
        throw fault(lines.size(), "expected [SECTION], got '" + shown(kept, 60) + "'");
    } else if (!kept.empty()) {
      first = lines.size();
      const bool valued = read.equals > 0 && !trimmed(read.text.substr(read.equals)).empty();
      if (!valued) throw fault(first, "expected NAME = VALUE, got '" + shown(kept, 60) + "'");
    }
    depth += read.depth;
  }
  if (depth > 0) throw fault(first, "this list has no closing bracket");
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace syrinx
