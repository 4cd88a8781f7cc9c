// How --help looks: descriptions in a column of their own, broken between words where the terminal
// ends. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace syrinx {

/// Two columns: `head`, and `text` in lines so short that all of it takes at most `width` columns.
std::string help_entry(const std::string& head, const std::string& text, size_t width);

/// CLI11's formatter with the layout above.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace syrinx
