#include "io/certificates.h"

#include <cstdlib>

#include "io/file.h"

namespace syrinx {

std::string system_certificates() {
  const char* given = std::getenv("SSL_CERT_FILE");
  if (given != nullptr && *given != '\0') return given;
  for (const char* place : {"/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
                            "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
                            "/etc/pki/tls/certs/ca-bundle.crt",                   // older versions
                            "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {     // openSUSE, macOS
    if (is_file(place)) return place;
  }
  return "";
}

}  // namespace syrinx
