#include "server/net/byte_stream.h"

#include <boost/beast/websocket/teardown.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/clock.h"

namespace syrinx {

ByteStream::ByteStream(net::ip::tcp::socket socket, std::shared_ptr<TlsContext> context)
    : context_(std::move(context)), tcp_(std::move(socket)) {
  if (context_) tls_.emplace(tcp_, *context_);
}

void ByteStream::read_some(const FewBuffers<net::mutable_buffer>& buffers, Moved then) {
  if (tls_) return tls_->async_read_some(buffers, std::move(then));
  tcp_.async_read_some(buffers, std::move(then));
}

void ByteStream::write_some(const FewBuffers<net::const_buffer>& buffers, Moved then) {
  piece_began_s_ = now_s();
  if (tls_) return tls_->async_write_some(buffers, std::move(then));
  tcp_.async_write_some(buffers, std::move(then));
}

void ByteStream::handshake(Done then) {
  tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(then));
}

void ByteStream::shut(Done then) { tls_->async_shutdown(std::move(then)); }

void ByteStream::tear_down(boost::beast::role_type role, Done then) {
  if (tls_) return shut(std::move(then));
  boost::beast::websocket::async_teardown(role, tcp_.socket(), std::move(then));
}

void beast_close_socket(ByteStream& stream) { stream.lowest().close(); }

void teardown(boost::beast::role_type role, ByteStream& stream, SystemError& error) {
  boost::beast::websocket::teardown(role, stream.socket(), error);
}

std::shared_ptr<TlsContext> make_tls_context(const std::string& certificate_file,
                                             const std::string& key_file) {
  auto context = std::make_shared<TlsContext>(TlsContext::tls_server);
  for (const std::string& file : {certificate_file, key_file}) {  // OpenSSL does not name the file
    if (!std::ifstream(file)) throw LoadError("cannot read " + file + ": " + std::strerror(errno));
  }
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
