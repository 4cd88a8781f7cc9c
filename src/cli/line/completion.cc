#include "cli/line/completion.h"

#include "cli/line/describe.h"

namespace syrinx {
namespace {

std::string join(const std::vector<std::string>& words, const char* between = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

/// Quotes text with single quotes, for any of the three shells.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Merges subcommands into their commands: adds their names as words, and their options.
std::vector<CommandFacts> merged(const std::vector<CommandFacts>& all) {
  std::vector<CommandFacts> out;
  for (const CommandFacts& command : all) {
    if (command.name.find(' ') == std::string::npos) {
      out.push_back(command);
      if (&command == &all.front() || command.commands.empty()) continue;
      OptionFacts names;
      names.positional = "command";
      names.choices = command.commands;
      out.back().options.push_back(names);
    } else {
      for (const OptionFacts& option : command.options) {
        const bool help = !option.names.empty() && option.names.back() == "--help";
        if (!help && !option.names.empty()) out.back().options.push_back(option);
      }
    }
  }
  return out;
}

std::string bash_script(const std::vector<CommandFacts>& all) {
  std::string out =
      "# bash completion for syrinx; made by 'syrinx completion bash'\n"
      "_syrinx() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=${COMP_WORDS[1]} words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then command=syrinx; fi\n"
      "  case \"$command $before\" in\n";
  for (const CommandFacts& command : all) {
    for (const OptionFacts& option : command.options) {
      if (!option.takes_value) continue;
      for (const std::string& name : option.names) {
        out += "    \"" + command.name + " " + name + "\") ";
        out += option.choices.empty() ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                                      : "COMPREPLY=($(compgen -W " +
                                            in_quotes(join(option.choices)) + " -- \"$word\"))";
        out += "; return ;;\n";
      }
    }
  }
  out += "  esac\n  case \"$command\" in\n";
  for (const CommandFacts& command : all) {
    std::vector<std::string> words;
    if (&command == &all.front()) words = all.front().commands;
    for (const OptionFacts& option : command.options) {
      words.insert(words.end(), option.names.begin(), option.names.end());
      if (option.names.empty()) {
        words.insert(words.end(), option.choices.begin(), option.choices.end());
      }
    }
    out += "    " + command.name + ") words=" + in_quotes(join(words)) + " ;;\n";
  }
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  if [ ${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
      "}\n"
      "complete -o filenames -F _syrinx syrinx\n";
  return out;
}

/// Escapes a description for _arguments, where brackets and colons are special.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionFacts& option) {
  const std::string action = option.choices.empty() ? "_files" : "(" + join(option.choices) + ")";
  if (option.names.empty()) return in_quotes("*:" + option.positional + ":" + action);
  std::string tail = "[" + zsh_text(option.description) + "]";
  if (option.takes_value) tail += ":value:" + action;
  if (option.names.size() == 1) return in_quotes(option.names.front() + tail);
  return in_quotes("(" + join(option.names) + ")") + "{" + join(option.names, ",") + "}" +
         in_quotes(tail);
}

std::string zsh_script(const std::vector<CommandFacts>& all) {
  std::string out =
      "#compdef syrinx\n"
      "# zsh completion for syrinx; made by 'syrinx completion zsh'\n"
      "_syrinx() {\n"
      "  local -a commands=(\n";
  for (size_t i = 1; i < all.size(); ++i) {
    out += "    ";
    out += in_quotes(all[i].name + ":" + zsh_text(all[i].description));
    out += "\n";
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    _arguments";
  for (const OptionFacts& option : all.front().options) out += " " + zsh_option(option);
  out +=
      "\n    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (size_t i = 1; i < all.size(); ++i) {
    out += "    " + all[i].name + ")\n      _arguments";
    for (const OptionFacts& option : all[i].options) out += " \\\n        " + zsh_option(option);
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _syrinx ]; then _syrinx \"$@\"; else compdef _syrinx syrinx; fi\n";
  return out;
}

std::string fish_script(const std::vector<CommandFacts>& all) {
  std::string out = "# fish completion for syrinx; made by 'syrinx completion fish'\n";
  const std::string names = join(all.front().commands);
  const std::string none = "'not __fish_seen_subcommand_from " + names + "'";
  for (const CommandFacts& command : all) {
    const bool top = &command == &all.front();
    const std::string when = top ? none : "'__fish_seen_subcommand_from " + command.name + "'";
    if (!top) {
      out += "complete -c syrinx -f -n " + none + " -a " + command.name + " -d " +
             in_quotes(command.description) + "\n";
    }
    for (const OptionFacts& option : command.options) {
      std::string line = "complete -c syrinx -n " + when;
      for (const std::string& name : option.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty()) {
        line += (option.names.empty() ? " -f -a " : " -x -a ") + in_quotes(join(option.choices));
      } else if (option.names.empty()) {
        continue;  // fish completes paths without help
      } else if (option.takes_value) {
        line += " -r";
      }
      out += line + " -d " + in_quotes(option.description) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandFacts> all = merged(describe(app));
  if (shell == "zsh") return zsh_script(all);
  return shell == "fish" ? fish_script(all) : bash_script(all);
}

}  // namespace syrinx
