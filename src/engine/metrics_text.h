// Writes other histograms in the same text format as the engine's metrics. Any thread.
#pragma once

#include <string>

#include "engine/metrics.h"

namespace syrinx {

/// Appends the samples of a histogram in Prometheus' text format, without its HELP and TYPE lines.
/// `name` lacks the prefix "syrinx_". `labels`: at least one label, as in a="value",b="value".
void write_histogram(const std::string& name, const Histogram& histogram, const std::string& labels,
                     std::string& out);

}  // namespace syrinx
