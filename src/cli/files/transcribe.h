// `syrinx transcribe`: what is said in recordings.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_transcribe(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
