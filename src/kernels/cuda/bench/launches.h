// Measures the cost of a launch on this machine, without the work of a kernel.
#pragma once

#include <cstdio>

namespace syrinx::cuda {

/// Writes one line of JSON for each probe to `file` (may be null) and one line of text to stdout.
/// The probes measure the time per node of a graph of empty kernels, with and without programmatic
/// dependent launch; the host's time to launch and to instantiate graphs of 100, 700 and 1,400
/// nodes; the latency of an event.
void bench_launches(std::FILE* file);

}  // namespace syrinx::cuda
