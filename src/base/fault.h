// Calls work that may throw anything, and returns its exception as a message. Any thread.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace syrinx {

/// Calls `work`. Returns the message of the exception that it throws, which is never empty; nothing
/// if it throws none.
template <typename Work>
std::optional<std::string> fault_of(Work&& work) noexcept {
  try {
    try {
      std::forward<Work>(work)();
      return std::nullopt;
    } catch (const std::exception& e) {
      return *e.what() != 0 ? e.what() : "an exception without a message";
    } catch (...) {
      return "an exception that is not a std::exception";
    }
  } catch (...) {  // no memory for that message; this one needs none
    return "no memory";
  }
}

}  // namespace syrinx
