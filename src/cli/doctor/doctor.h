// `syrinx doctor`: what this machine can do and what to install for what is missing.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_doctor(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
