#include "server/byte_stream.h"

#include "base/check.h"

namespace syrinx {

std::shared_ptr<TlsContext> make_tls_context(const std::string& certificate_file,
                                             const std::string& key_file) {
  auto context = std::make_shared<TlsContext>(TlsContext::tls_server);
  SystemError error;
  context->set_options(TlsContext::default_workarounds | TlsContext::no_tlsv1 |
                       TlsContext::no_tlsv1_1 | TlsContext::single_dh_use);
  context->use_certificate_chain_file(certificate_file, error);
  if (error) throw LoadError(concat("TLS certificate ", certificate_file, ": ", error.message()));
  context->use_private_key_file(key_file, TlsContext::pem, error);
  if (error) throw LoadError(concat("TLS key ", key_file, ": ", error.message()));
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    throw LoadError(
        concat("TLS key ", key_file, " does not belong to the certificate ", certificate_file));
  }
  return context;
}

}  // namespace syrinx
