// The system's file of certificates of authorities. A program that was built on another system does
// not know its path. Any thread.
#pragma once

#include <string>

namespace syrinx {

/// Returns $SSL_CERT_FILE, or the path of the distribution's file; "" if there is no such file.
std::string system_certificates();

}  // namespace syrinx
