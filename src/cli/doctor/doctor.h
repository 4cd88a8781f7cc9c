// `syrinx doctor`: reports what works on this machine and what to install for the rest.
#pragma once

#include "cli/line/command.h"

namespace syrinx {

void add_doctor(CLI::App& app, Chosen& chosen);

}  // namespace syrinx
