// Bounds of numbers on the command line, with messages in plain words: "5 is not between 0 and 2".
// Free functions; any thread.
#pragma once

#include <CLI/CLI.hpp>

namespace syrinx {

/// Accepts numbers from `low` to `high`, both included.
CLI::Validator between(double low, double high);
/// Accepts `low` and greater numbers.
CLI::Validator at_least(double low);
/// Accepts numbers greater than `low`.
CLI::Validator above(double low);

}  // namespace syrinx
