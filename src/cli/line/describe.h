// The commands and options as data, the source of help, completion and manual. Free functions; any
// thread.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace syrinx {

/// Texts and names of an option.
struct OptionFacts {
  std::vector<std::string> names;  ///< "-v", "--voice"; empty for a positional argument
  std::string positional;          ///< e.g. "text"; empty for an option
  std::string description;
  std::string standard;              ///< the default value; empty without a default
  std::vector<std::string> choices;  ///< the permitted values, if they are few
  bool takes_value = false, required = false;
};

/// Texts and options of a command.
struct CommandFacts {
  std::string name;  ///< e.g. "say"; for a subcommand two words: "hub pull"
  std::string description, footer;
  std::vector<OptionFacts> options;
  std::vector<std::string> commands;  ///< names of its subcommands, without the first word
};

/// Returns the options of the program itself, under the program's name. Then returns its commands,
/// each followed by its subcommands.
std::vector<CommandFacts> describe(const CLI::App& app);

}  // namespace syrinx
