// The command line as data, so that help, completion and manual come from one source.
// Free functions; any thread.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace syrinx {

/// Facts of an option for texts.
struct OptionFacts {
  std::vector<std::string> names;  ///< "-v", "--voice"; empty for a positional
  std::string positional;          ///< "text"; empty for an option
  std::string description;
  std::string standard;              ///< the default, when there is one
  std::vector<std::string> choices;  ///< the only values that are taken, when they are few
  bool takes_value = false, required = false;
};

/// Facts of a command for texts.
struct CommandFacts {
  std::string name;  ///< "say"; of a command below another one "hub pull"
  std::string description, footer;
  std::vector<OptionFacts> options;
  std::vector<std::string> commands;  ///< names of those below, the first part left out
};

/// The program's own options come first, under the program's name; then its commands, each followed
/// by those below it.
std::vector<CommandFacts> describe(const CLI::App& app);

}  // namespace syrinx
