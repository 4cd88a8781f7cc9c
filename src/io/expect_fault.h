// For tests: what a fault says.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace syrinx {

/// Checks that a fault was found and says `part`.
inline void expect_fault(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace syrinx
