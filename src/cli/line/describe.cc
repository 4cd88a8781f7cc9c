#include "cli/line/describe.h"

#include <CLI/Option.hpp>
#include <algorithm>
#include <utility>

namespace syrinx {
namespace {

/// Returns the values in a type name like "TEXT:{auto,f32}".
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  for (size_t at = begin + 1; at < end;) {
    const size_t comma = std::min(type.find(',', at), end);
    choices.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return choices;
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.names.empty()) facts.positional = option.get_name();
  facts.description = option.get_description();
  facts.standard = option.get_default_str();
  facts.choices = choices_of(option.get_type_name());
  facts.required = option.get_required();
  facts.takes_value = option.get_items_expected_max() > 0;
  return facts;
}

/// Adds the facts of a command and its subcommands. `prefix` is empty or ends with a space.
void add_facts(const CLI::App& app, const std::string& prefix, std::vector<CommandFacts>& all) {
  CommandFacts facts{prefix + app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) facts.commands.push_back(command->get_name());
  const bool program = all.empty();
  all.push_back(std::move(facts));
  const std::string below = program ? "" : prefix + app.get_name() + " ";
  for (const CLI::App* command : commands) add_facts(*command, below, all);
}

}  // namespace

std::vector<CommandFacts> describe(const CLI::App& app) {
  std::vector<CommandFacts> all;
  add_facts(app, "", all);
  return all;
}

}  // namespace syrinx
