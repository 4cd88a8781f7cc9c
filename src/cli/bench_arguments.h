// The arguments of `syrinx bench` that are its own; main.cc adds those of models and requests.
#pragma once

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace syrinx {

void add_bench_arguments(CLI::App& app, BenchOptions& bench);

}  // namespace syrinx
