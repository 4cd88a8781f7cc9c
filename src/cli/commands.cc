#include "cli/commands.h"

#include "cli/doctor/doctor.h"
#include "cli/files/batch.h"
#include "cli/files/book.h"
#include "cli/files/transcribe.h"
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

namespace syrinx {

std::span<const AddCommand> all_commands() {
  static constexpr AddCommand kCommands[] = {add_say,      add_chat,       add_book,  add_batch,
                                             add_voice,    add_transcribe, add_serve, add_top,
                                             add_trace,    add_inspect,    add_bench, add_hub,
                                             add_simulate, add_texts,      add_doctor};
  return kCommands;
}

}  // namespace syrinx
