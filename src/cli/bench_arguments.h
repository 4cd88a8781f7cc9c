// The arguments of `syrinx bench` and `syrinx simulate`; main.cc adds those of models and requests
// to the former.
#pragma once

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace syrinx {

void add_bench_arguments(CLI::App& app, BenchOptions& bench);
void add_simulate_arguments(CLI::App& app, SimulateOptions& simulate);

}  // namespace syrinx
