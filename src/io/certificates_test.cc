#include "io/certificates.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "io/file.h"

namespace syrinx {
namespace {

TEST(Certificates, AreThoseThatAreGivenOrTheSystems) {
  const char* before = std::getenv("SSL_CERT_FILE");
  const std::string kept = before == nullptr ? "" : before;
  setenv("SSL_CERT_FILE", "/given.pem", 1);
  EXPECT_EQ(system_certificates(), "/given.pem");
  setenv("SSL_CERT_FILE", "", 1);
  const std::string found = system_certificates();
  EXPECT_TRUE(found.empty() || is_file(found)) << found;
  if (before == nullptr) {
    unsetenv("SSL_CERT_FILE");
  } else {
    setenv("SSL_CERT_FILE", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace syrinx
