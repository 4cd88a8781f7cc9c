// Progress of loading a model: how much of the checkpoint has been read, and the time left.
#pragma once

#include <functional>
#include <string>

#include "runtime/runtime.h"

namespace syrinx {

/// Formats the progress `passed_s` seconds after the load began: "loading llama: 1.2 GB of 3.8 GB,
/// 14 s left".
std::string load_text(const ModelProgress& progress, double passed_s);

/// Returns a function that shows the progress on the terminal (progress_line.h) once a load has
/// taken a second.
std::function<void(const ModelProgress&)> show_load();

/// Returns a function that logs the progress every `every_s` seconds, for servers. Each load needs
/// its own copy; copies may run at the same time.
std::function<void(const ModelProgress&)> log_load(std::function<void(const std::string&)> log,
                                                   double every_s = 5);

}  // namespace syrinx
