// The layout of --help: descriptions in a separate column, with line breaks between words at the
// terminal's width. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace syrinx {

/// Formats two columns, `head` and `text`, of at most `width` columns together.
std::string help_entry(const std::string& head, const std::string& text, size_t width);

/// CLI11's formatter with the layout above.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace syrinx
