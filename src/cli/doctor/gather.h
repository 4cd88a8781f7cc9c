// Gathers the facts for `syrinx doctor`: reads the system's state, tries optional features, speaks
// a sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/doctor/findings.h"

namespace syrinx {

/// Gathers the facts; takes about a second. `port`: the port for `syrinx serve`. One thread.
MachineFacts gather_facts(int port);

/// Returns the unquoted value of a line NAME=value of /etc/os-release; empty if it is missing.
std::string os_release_value(std::string_view text, std::string_view name);

/// Returns the dictionary's file and encoding from the output of `mecab -D`; empty if not found.
std::string mecab_dictionary(std::string_view printed);

}  // namespace syrinx
