// Finds the system's file of certificate authorities. A program that was built on another system
// does not know this file's path. Any thread.
#pragma once

#include <string>

namespace syrinx {

/// Returns $SSL_CERT_FILE, or the path of the distribution's file; empty if the file is missing.
std::string system_certificates();

}  // namespace syrinx
