// Bounds of numbers on the command line, and what is said about those beyond them, as people write
// it: "5 is not between 0 and 2". Free functions; any thread.
#pragma once

#include <CLI/CLI.hpp>

namespace syrinx {

/// From `low` to `high`, both allowed.
CLI::Validator between(double low, double high);
/// `low` or more.
CLI::Validator at_least(double low);
/// More than `low`.
CLI::Validator above(double low);

}  // namespace syrinx
