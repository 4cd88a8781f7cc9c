#include "cli/line/usage.h"

#include <algorithm>
#include <istream>
#include <iterator>
#include <sstream>
#include <utility>

#include "cli/line/toml_lines.h"

namespace syrinx {
namespace {

/// Returns how many letters to change, add, remove or swap with the next letter.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    out.push_back(command->get_name());
  }
  return out;
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

/// Returns the last command that the command line names.
const CLI::App& command_of(const CLI::App& app) {
  const CLI::App* at = &app;
  for (auto below = at->get_subcommands(); !below.empty(); below = at->get_subcommands()) {
    at = below.front();
  }
  return *at;
}

std::string full_name(const CLI::App& app) {
  const CLI::App* above = app.get_parent();
  return above == nullptr ? app.get_name() : full_name(*above) + " " + app.get_name();
}

std::string trimmed_of_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string place_name(const std::vector<std::string>& parents, const std::string& name) {
  std::string out;
  for (const std::string& parent : parents) out += parent + ".";
  return out + name;
}

/// Returns the line of each key, named "section.key"; the first line of a repeated key.
std::map<std::string, size_t> lines_of(const std::string& text) {
  std::map<std::string, size_t> out;
  std::string section;
  std::istringstream in(text);
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = trimmed_of_blanks(line);
    if (line.starts_with('[')) {
      section = trimmed_of_blanks(line.substr(1, line.find(']') - 1)) + ".";
    } else if (const size_t equals = line.find('=');
               equals != std::string::npos && line[0] != '#') {
      std::string key = trimmed_of_blanks(line.substr(0, equals));
      std::erase(key, '"');
      out.emplace(section + key, number);
    }
  }
  return out;
}

/// Returns the option that a message names: "--port" in "--port: 70000 is not ..." and in "Could
/// not convert: --port = many".
std::string option_at_fault(const std::string& what) {
  const size_t begin = what.find("--");
  if (begin == std::string::npos) return "";
  const size_t end = std::min(what.find_first_of(": =,", begin + 2), what.size());
  return what.substr(begin, end - begin);
}

/// Rewrites "Could not convert: --threads = 1.5" as "--threads: '1.5' is not a whole number", and
/// "files is required" as "syrinx transcribe needs 'files': recordings; ...", and what the parser
/// says of a missing or repeated value. Options that accept fractions report their bounds first.
std::string in_words(const std::string& what, const CLI::App& command) {
  constexpr std::string_view kRequired = " is required";
  if (what.ends_with(kRequired)) {
    const std::string lacking = what.substr(0, what.size() - kRequired.size());
    const CLI::Option* option = command.get_option_no_throw(lacking);
    if (option == nullptr) return what;
    return full_name(command) + " needs '" + lacking + "': " + option->get_description();
  }
  if (const size_t at = what.find(": 1 required "); at != what.npos && what.ends_with(" missing")) {
    return what.substr(0, at) + ": the value is missing";
  }
  if (const size_t at = what.find(": At Most 1 required but received "); at != what.npos) {
    return what.substr(0, at) + ": given more than once";
  }
  constexpr std::string_view kCould = "Could not convert: ";
  const size_t equals = what.find(" = ");
  if (!what.starts_with(kCould) || equals == std::string::npos) return what;
  const std::string name = what.substr(kCould.size(), equals - kCould.size());
  const CLI::Option* option = command.get_option_no_throw(name);
  const bool flag = option != nullptr && option->get_items_expected_max() == 0;
  return name + ": '" + what.substr(equals + 3) +
         (flag ? "' is neither true nor false" : "' is not a whole number");
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best, begins;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1, longer = 0;
  for (const std::string& each : known) {
    if (word.size() >= 2 && each.starts_with(word)) begins = each, ++longer;
    const size_t count = edits(word, each);
    if (count < fewest) fewest = count, best = each;
  }
  return longer == 1 ? begins : best;
}

std::vector<CLI::ConfigItem> LocatedConfig::from_config(std::istream& in) const {
  const std::string file = app_.get_config_ptr()->as<std::string>();
  const std::string text = toml_lines(
      std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}, file);
  std::istringstream again(text);
  CLI::ConfigTOML toml;
  toml.comment('\x01');  // comments are already removed; a '#' within quotes must remain
  std::vector<CLI::ConfigItem> told = toml.from_config(again);
  const std::map<std::string, size_t> lines = lines_of(text);
  for (const CLI::ConfigItem& item : told) {
    if (item.name == "++" || item.name == "--") continue;  // marks a section's begin or end
    const auto line = lines.find(place_name(item.parents, item.name));
    const std::string place =
        line == lines.end() ? file : file + ":" + std::to_string(line->second);
    check(item, place);
    places_.emplace(item.name, place);
  }
  return told;
}

void LocatedConfig::check(const CLI::ConfigItem& item, const std::string& place) const {
  const CLI::App* at = &app_;
  std::string section;
  for (const std::string& parent : item.parents) {
    section += (section.empty() ? "" : ".") + parent;
    const CLI::App* below = command_named(*at, parent);
    if (below == nullptr) {
      throw CLI::ConfigError(place + ": unknown command [" + section + "]" +
                             meant(parent, command_names(*at)));
    }
    at = below;
  }
  const CLI::Option* option = at->get_option_no_throw("--" + item.name);
  if (option != nullptr && option->get_configurable()) return;
  std::vector<std::string> names;
  for (const std::string& name : option_names(*at)) {
    if (at->get_option(name)->get_configurable()) names.push_back(name.substr(2));
  }
  const std::string where =
      section.empty() ? "the part before the first section, such as [serve]," : "[" + section + "]";
  throw CLI::ConfigError(place + ": " + where + " has no option '" + item.name + "'" +
                         meant(item.name, names));
}

std::string LocatedConfig::place_of(const std::string& option) const {
  const auto at = places_.find(option);
  return at == places_.end() ? "" : at->second;
}

std::string usage_fault(const CLI::App& app, const CLI::ParseError& error,
                        const LocatedConfig& config, const std::vector<std::string>& arguments) {
  const CLI::App& command = command_of(app);
  const std::string help = " (see " + full_name(command) + " --help)";
  const std::vector<std::string> commands = command_names(command);
  for (const std::string& word :
       command.remaining(false).empty() ? app.remaining(true) : command.remaining(false)) {
    if (word.size() > 1 && word[0] == '-') {
      const std::string name = word.substr(0, word.find('='));
      std::vector<std::string> options = option_names(command);
      if (command.get_parent() != nullptr) {
        for (std::string& each : option_names(app)) options.push_back(std::move(each));
      }
      return full_name(command) + " has no option '" + name + "'" + meant(name, options) + help;
    }
    if (!commands.empty()) {
      return full_name(command) + " has no command '" + word + "'" + meant(word, commands) + help;
    }
    return "'" + word + "' is an unexpected argument of " + full_name(command) + help;
  }
  std::string what = in_words(error.what(), command);
  const std::string option = option_at_fault(what);
  const bool typed = std::any_of(arguments.begin(), arguments.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
  if (option.size() > 2 && !typed) {
    if (const std::string place = config.place_of(option.substr(2)); !place.empty()) {
      what = place + ": " + what;
    }
  }
  return what + help;
}

const CLI::App* asks_for_help(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App& command = command_of(app);
  if (arguments.empty()) return &app;
  const bool lacks = command.get_require_subcommand_min() > 0 && app.remaining(true).empty();
  return lacks && arguments.back() == command.get_name() ? &command : nullptr;
}

}  // namespace syrinx
