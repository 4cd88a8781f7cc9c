// Speech for tests: a text spoken by a speaker of the built-in voice, at kHearingRate.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

std::vector<float> spoken(const std::string& text, const std::string& speaker = {});

}  // namespace syrinx
