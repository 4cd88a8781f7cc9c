// What the loading of a model says: how much of the checkpoint has been taken, and the time left.
#pragma once

#include <functional>
#include <string>

#include "runtime/runtime.h"

namespace syrinx {

/// "loading llama: 1.2 GB of 3.8 GB, 14 s left", `passed_s` seconds after the load began.
std::string load_text(const ModelProgress& progress, double passed_s);

/// Returns what shows a load in the line of the terminal (progress_line.h) after its first second.
std::function<void(const ModelProgress&)> show_load();

/// Returns what logs a load every `every_s` seconds, for servers. Copies of it may be
/// called at once, one copy by one load at a time.
std::function<void(const ModelProgress&)> log_load(std::function<void(const std::string&)> log,
                                                   double every_s = 5);

}  // namespace syrinx
