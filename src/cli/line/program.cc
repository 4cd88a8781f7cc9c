#include "cli/line/program.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "audio/decode_helper.h"
#include "cli/line/exit.h"
#include "cli/line/help.h"
#include "cli/line/interrupt.h"
#include "cli/line/usage.h"

namespace syrinx {
namespace {

// CLI11 takes an argument in brackets, such as "[pause 1s]", for a list, and removes the
// brackets and commas. This byte behind the last bracket prevents that.
constexpr char kPlain = '\x1f';

/// Returns the arguments, last first, those in brackets with kPlain.
std::vector<std::string> marked_arguments(int argc, char** argv) {
  std::vector<std::string> out(std::make_reverse_iterator(argv + argc),
                               std::make_reverse_iterator(argv + 1));
  for (std::string& argument : out) {
    if (argument.starts_with('[') && argument.ends_with(']')) argument += kPlain;
  }
  return out;
}

/// Makes all options of a command and its subcommands remove kPlain from their values.
void remove_marks(CLI::App& command) {
  const CLI::Validator remove(
      [](std::string& value) {
        if (value.ends_with(kPlain)) value.pop_back();
        return std::string();
      },
      "");
  for (CLI::Option* option : command.get_options()) option->transform(remove);
  for (CLI::App* below : command.get_subcommands({})) remove_marks(*below);
}

int run(const Program& program, int argc, char** argv) {
  CLI::App app("Syrinx: a streaming server for speech language models", "syrinx");
  app.require_subcommand(1);
  app.fallthrough();  // allows --config after the command
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", SYRINX_VERSION);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "",
                 "TOML file with the options of a command in a section of its name, e.g. [serve]");
  const auto config = std::make_shared<LocatedConfig>(app);
  app.config_formatter(config);
  Chosen chosen;
  for (const AddCommand add : program.commands) add(app, chosen);
  // Set at the end, because commands inherit the settings that exist when they are added.
  app.footer(program.footer);
  remove_marks(app);
  try {
    app.parse(marked_arguments(argc, argv));
  } catch (const CLI::Success& wish) {  // thrown for --help and --version
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (const CLI::App* asked = asks_for_help(app, arguments)) {
      std::fputs(asked->help().c_str(), stderr);
    } else {
      std::string fault = usage_fault(app, error, *config, arguments);
      std::erase(fault, kPlain);
      std::fprintf(stderr, "syrinx: %s\n", fault.c_str());
    }
    return kExitUsage;
  }
  return chosen();
}

/// Makes write() report a closed pipe (SIGPIPE) and the largest file size (SIGXFSZ) as errors,
/// instead of ending the program. Installs a handler rather than SIG_IGN, because child programs
/// would inherit SIG_IGN.
void survive_failed_writes() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &action, nullptr);
}

/// Returns the exit code. Reports a failed write to the standard output, such as a full disk, which
/// no other code checks.
int written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.flush()) return code;
  std::fprintf(stderr, "syrinx: cannot write to the standard output: %s\n", std::strerror(errno));
  return code == kExitOk ? kExitFailed : code;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == kDecodeHelperCommand) {
    run_decode_helper();
  }
  survive_failed_writes();
  try {
    return written(run(program, argc, argv));
  } catch (const UsageError& error) {
    std::fprintf(stderr, "syrinx: %s\n", error.what());
    return kExitUsage;
  } catch (const Interrupted& interrupted) {
    end_by(interrupted);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "syrinx: %s\n", error.what());
    return kExitFailed;
  }
}

}  // namespace syrinx
