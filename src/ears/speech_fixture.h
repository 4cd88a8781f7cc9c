// Speech for tests: what a speaker of the built-in voice makes of a text, at kHearingRate.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

std::vector<float> spoken(const std::string& text, const std::string& speaker = {});

}  // namespace syrinx
