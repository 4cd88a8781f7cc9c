// The program: all commands.
#include "cli/files/batch.h"
#include "cli/files/book.h"
#include "cli/files/transcribe.h"
#include "cli/line/program.h"
#include "cli/line/texts.h"
#include "cli/measure/bench.h"
#include "cli/measure/trace.h"
#include "cli/serve/hub.h"
#include "cli/serve/inspect.h"
#include "cli/serve/serve.h"
#include "cli/serve/top.h"
#include "cli/serve/voice.h"
#include "cli/speak/say.h"
#include "cli/talk/chat.h"

int main(int argc, char** argv) {
  using namespace syrinx;
  // In the order of the help.
  constexpr AddCommand kCommands[] = {
      add_say, add_chat,  add_book,    add_batch, add_voice, add_transcribe, add_serve,
      add_top, add_trace, add_inspect, add_bench, add_hub,   add_simulate,   add_texts};
  return run_program(
      {kCommands,
       "Examples:\n"
       "  syrinx say \"Good morning.\"       speak\n"
       "  syrinx serve                     OpenAI's speech API and a page at "
       "http://127.0.0.1:8080\n"
       "  syrinx book alice.txt            a whole book, resumable\n"
       "  syrinx COMMAND --help            all options, with examples\n\n"
       "Exit codes: 0 done, 1 failed, 2 the command line makes no sense, 3 spoken but not to the "
       "end."},
      argc, argv);
}
