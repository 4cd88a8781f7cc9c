// Gathers what `syrinx doctor` reports: asks the system, opens what is optional, speaks a sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/doctor/findings.h"

namespace syrinx {

/// Takes about a second. `port`: that `syrinx serve` is to listen on. One thread.
MachineFacts gather_facts(int port);

/// The value of a line NAME=value of /etc/os-release, without quotes; "" where there is none.
std::string os_release_value(std::string_view text, std::string_view name);

}  // namespace syrinx
