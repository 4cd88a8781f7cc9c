#include "cli/line/manual.h"

#include <cctype>

#include "cli/line/describe.h"

namespace syrinx {
namespace {

/// Escapes text for roff: keeps '-' and '\' as characters, and lets no line begin with a command.
std::string plain(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  return out;
}

/// Sets text in font B or I.
std::string in_font(char font, const std::string& text) {
  std::string out = "\\f";
  out += font;
  out += plain(text);
  return out += "\\fR";
}
std::string bold(const std::string& text) { return in_font('B', text); }

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string term(const OptionFacts& option) {
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "" : ", ") + bold(name);
  if (option.names.empty()) return in_font('I', upper(option.positional));
  if (!option.takes_value) return out;
  std::string value;
  for (const std::string& choice : option.choices) value += (value.empty() ? "" : "|") + choice;
  return out + " " + in_font('I', value.empty() ? "VALUE" : value);
}

void write_options(const CommandFacts& command, std::string& out) {
  for (const OptionFacts& option : command.options) {
    if (option.names.size() == 2 && option.names[1] == "--help") continue;  // all commands have it
    out += ".TP\n" + term(option) + "\n" + plain(option.description);
    if (!option.standard.empty()) {
      out += (option.description.empty() ? "Default: " : " (default: ") + plain(option.standard) +
             (option.description.empty() ? "." : ").");
    }
    out += "\n";
  }
}

/// Writes a footer: notes as text, examples unchanged.
void write_footer(const std::string& footer, bool any_options, std::string& out) {
  if (footer.empty()) return;
  const size_t at = footer.find("Examples:\n");
  const std::string notes = footer.substr(0, at);
  const size_t end = notes.find_last_not_of(" \n");
  const char* gap = any_options ? ".PP\n" : "";
  if (end != std::string::npos) {
    out += gap + plain(notes.substr(0, end + 1)) + "\n";
    gap = ".PP\n";
  }
  if (at == std::string::npos) return;
  out += gap;
  out += "Examples:\n.PP\n.nf\n.RS 4\n";
  for (size_t begin = at + 10; begin < footer.size();) {
    const size_t stop = std::min(footer.find('\n', begin), footer.size());
    const size_t text = std::min(footer.find_first_not_of(' ', begin), stop);
    out += plain(footer.substr(text, stop - text)) + "\n";
    begin = stop + 1;
  }
  out += ".RE\n.fi\n";
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
It failed; one line on the standard error says why.
.TP
.B 2
The command line makes no sense.
.TP
.B 3
Spoken, but not to the end: a bound on the length was reached, or the voice began to repeat itself
and was stopped.
.SH ENVIRONMENT
.TP
.B SYRINX_PLAYER
Command that plays WAV from its standard input.
.TP
.B SYRINX_API_KEY
A key that clients of the server must show.
.TP
.B SYRINX_VOICES
Where kept voices lie; by default syrinx/voices in XDG_DATA_HOME or ~/.local/share.
.TP
.B HF_HOME
Where the hub's cache lies, in which models named Org/Name are looked up.
.TP
.B XDG_CACHE_HOME
Packed weights are kept in syrinx/weights there, by default in ~/.cache.
.SH FILES
.TP
.I PREFIX/share/syrinx/voices
The built\-in voices.
)";

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  const std::vector<CommandFacts> all = describe(app);
  const CommandFacts& program = all.front();
  std::string out = ".TH SYRINX 1 \"\" \"Syrinx " + plain(version) + "\" \"User Commands\"\n";
  out += ".SH NAME\nsyrinx \\- a streaming server for speech language models\n.SH SYNOPSIS\n";
  for (size_t i = 1; i < all.size(); ++i) {
    if (!all[i].commands.empty()) continue;
    out += bold("syrinx " + all[i].name) + " [\\fIOPTIONS\\fR]";
    for (const OptionFacts& option : all[i].options) {
      if (!option.names.empty()) continue;
      out += option.required ? " " : " [";
      out += term(option);
      out += option.required ? "" : "]";
    }
    out += i + 1 < all.size() ? "\n.br\n" : "\n";
  }
  out += ".SH DESCRIPTION\n" + plain(program.description) +
         ". One program speaks, serves and measures; a voice is built in.\n"
         "Every command answers \\fB\\-\\-help\\fR.\n";
  write_footer(program.footer, true, out);
  out += ".SH COMMANDS\n";
  for (size_t i = 1; i < all.size(); ++i) {
    if (!all[i].commands.empty()) continue;
    out += ".SS \"" + plain(all[i].name) + " \\- " + plain(all[i].description) + "\"\n";
    write_options(all[i], out);
    write_footer(all[i].footer, all[i].options.size() > 1, out);
  }
  return out + kEnd;
}

}  // namespace syrinx
