// Messages about an invalid command line or config file: where the error is and what the user may
// have meant. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Returns the word in `known` that is most similar to `word`: a few letters are wrong, swapped,
/// missing or added, or only this word begins with `word`. Empty if no word is similar.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// Reads TOML and stores the lines of its keys. Refuses unknown keys, with file and line. The app
/// must outlive this object.
class LocatedConfig : public CLI::ConfigTOML {
 public:
  explicit LocatedConfig(const CLI::App& app) : app_(app) {}
  std::vector<CLI::ConfigItem> from_config(std::istream& in) const override;
  /// Returns "file:3" for the long name of an option, without hyphens; empty if the file lacks it.
  std::string place_of(const std::string& option) const;

 private:
  void check(const CLI::ConfigItem& item, const std::string& place) const;
  const CLI::App& app_;
  // Mutable, because the library reads the items through a const reference.
  mutable std::map<std::string, std::string> places_;
};

/// Returns one line that describes why a command line is invalid.
std::string usage_fault(const CLI::App& app, const CLI::ParseError& error,
                        const LocatedConfig& config, const std::vector<std::string>& arguments);

/// Returns the command whose help answers an incomplete call (`syrinx`, `syrinx hub`). Null for any
/// other error.
const CLI::App* asks_for_help(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace syrinx
