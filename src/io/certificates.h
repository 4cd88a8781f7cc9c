// Where the system keeps the certificates of authorities: a program that was built elsewhere does
// not know it. Any thread.
#pragma once

#include <string>

namespace syrinx {

/// $SSL_CERT_FILE, or the file that a distribution keeps; "" where there is none.
std::string system_certificates();

}  // namespace syrinx
