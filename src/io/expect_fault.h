// For tests: checks of error messages.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace syrinx {

/// Checks that `text`, the message of a fault, is not empty and contains `part`.
inline void expect_fault(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace syrinx
