// The program `syrinx`, with all commands.
#include "cli/commands.h"
#include "cli/line/program.h"

int main(int argc, char** argv) {
  return syrinx::run_program(
      {syrinx::all_commands(),
       "Examples:\n"
       "  syrinx say \"Good morning.\"       speak\n"
       "  syrinx serve                     OpenAI's speech API and a page at "
       "http://127.0.0.1:8080\n"
       "  syrinx book alice.txt            a whole book, resumable\n"
       "  syrinx COMMAND --help            all options, with examples\n\n"
       "Exit codes: 0 done, 1 failed, 2 invalid command line, 3 the speech was cut short."},
      argc, argv);
}
