// `syrinx transcribe`: writes down the speech in recordings.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_transcribe(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
