// Messages about an invalid command line or config file: where the fault
// is and what they may have meant. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// The one of `known` that `word` was meant to be, or "" when none is near: a few letters wrong,
/// swapped, missing or too many, or the beginning of just one.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// TOML that remembers where its keys stand and refuses those that no command has, with file and
/// line. The app outlives it.
class LocatedConfig : public CLI::ConfigTOML {
 public:
  explicit LocatedConfig(const CLI::App& app) : app_(app) {}
  std::vector<CLI::ConfigItem> from_config(std::istream& in) const override;
  /// "file:3" of a long option's name without its hyphens; "" when the file does not have it.
  std::string place_of(const std::string& option) const;

 private:
  void check(const CLI::ConfigItem& item, const std::string& place) const;
  const CLI::App& app_;
  // Filled where the library asks for the items, through a const reference.
  mutable std::map<std::string, std::string> places_;
};

/// One line for a command line that does not parse.
std::string usage_fault(const CLI::App& app, const CLI::ParseError& error,
                        const LocatedConfig& config, const std::vector<std::string>& arguments);

/// The command whose help answers a call without what it needs at least (`syrinx`, `syrinx hub`);
/// null: another fault.
const CLI::App* asks_for_help(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace syrinx
