// `syrinx transcribe`: transcribes recordings.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_transcribe(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
