#include "cli/line/texts.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "cli/line/completion.h"
#include "cli/line/exit.h"
#include "cli/line/manual.h"

namespace syrinx {

/// Adds the commands that print completion scripts and the manual.
void add_texts(CLI::App& app, Chosen& chosen) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print completion for a shell");
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "Examples:\n"
      "  source <(syrinx completion bash)\n"
      "  syrinx completion zsh > ~/.zfunc/_syrinx\n"
      "  syrinx completion fish > ~/.config/fish/completions/syrinx.fish");
  const auto print = [&chosen](std::function<std::string()> text) {
    chosen = [text = std::move(text)] {
      std::fputs(text().c_str(), stdout);
      return std::fflush(stdout) == 0 ? kExitOk : kExitFailed;
    };
  };
  completion->callback(
      [&app, print, shell] { print([&app, shell] { return completion_script(app, *shell); }); });
  CLI::App* manual = app.add_subcommand("manual", "Print the manual page");
  manual->footer("Examples:\n  syrinx manual | man -l -");
  manual->callback([&app, print] { print([&app] { return manual_page(app, SYRINX_VERSION); }); });
}

}  // namespace syrinx
