#include "cli/line/help.h"

#include <unistd.h>

#include <algorithm>

#include "cli/line/progress_line.h"

namespace syrinx {
namespace {

constexpr size_t kTextBegins = 30, kNarrowest = 60, kWidest = 100;

/// Returns the width of the help text: the terminal's width, within limits for easy reading.
size_t help_width() { return std::clamp(terminal_columns(STDOUT_FILENO), kNarrowest, kWidest); }

}  // namespace

std::string help_entry(const std::string& head, const std::string& text, size_t width) {
  std::string out, line = "  " + head;
  if (!text.empty() && line.size() + 2 > kTextBegins) out += line + "\n", line.clear();
  line.resize(std::max(line.size(), text.empty() ? 0 : kTextBegins), ' ');
  bool begins = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const size_t word = end - at;
    if (!begins && line.size() + 1 + word > width) {
      out += line + "\n", line.assign(kTextBegins, ' ');
      begins = true;
    }
    line += (begins ? "" : " ") + text.substr(at, word);
    begins = false;
    at = end + 1;
  }
  return out + line + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool positional) const {
  return help_entry(make_option_name(option, positional) + make_option_opts(option),
                    make_option_desc(option), help_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return help_entry(command->get_display_name(true), command->get_description(), help_width());
}

}  // namespace syrinx
