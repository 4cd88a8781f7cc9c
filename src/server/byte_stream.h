// A client's bytes, with or without TLS, as one type for Asio and Beast. Inside the server only;
// io thread only. Deadlines are those of lowest(), a tcp_stream, either way.
#pragma once

// clang-format off
#include "server/asio.h"
// clang-format on
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace syrinx {

using TlsContext = boost::asio::ssl::context;

class ByteStream {
 public:
  using next_layer_type = boost::beast::tcp_stream;
  using executor_type = next_layer_type::executor_type;

  /// Without a context the bytes are plain.
  ByteStream(net::ip::tcp::socket socket, std::shared_ptr<TlsContext> context)
      : context_(std::move(context)), tcp_(std::move(socket)) {
    if (context_) tls_.emplace(tcp_, *context_);
  }

  executor_type get_executor() { return tcp_.get_executor(); }
  next_layer_type& lowest() { return tcp_; }
  net::ip::tcp::socket& socket() { return tcp_.socket(); }
  /// Null when the bytes are plain.
  boost::asio::ssl::stream<next_layer_type&>* tls() { return tls_ ? &*tls_ : nullptr; }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Token>(token));
    return tcp_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Token>(token));
    return tcp_.async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  std::shared_ptr<TlsContext> context_;
  next_layer_type tcp_;
  std::optional<boost::asio::ssl::stream<next_layer_type&>> tls_;
};

/// A server's context from PEM files: TLS 1.2 and newer. Throws LoadError.
std::shared_ptr<TlsContext> make_tls_context(const std::string& certificate_file,
                                             const std::string& key_file);

}  // namespace syrinx
