// A connection to a client, with or without TLS, as one type for Asio and Beast. Use it only in
// src/server and on the io thread. Deadlines are set on lowest(), a tcp_stream, also with TLS.
// Asio and Beast instantiate every layer below for each type of handler. This class prevents that:
// handlers and buffers have one type each, and sockets and TLS are compiled only in byte_stream.cc.
#pragma once

// clang-format off
#include "server/net/asio.h"
// clang-format on
#include <array>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace syrinx {

using TlsContext = boost::asio::ssl::context;

/// A type-erased handler. Called at most once; destroyed without a call if the operation never
/// ends.
template <typename... Args>
class Completion {
 public:
  using executor_type = net::any_io_executor;

  /// `otherwise`: the executor for handlers that have no executor.
  template <typename Handler>
  Completion(Handler handler, const executor_type& otherwise)
      : executor_(net::get_associated_executor(handler, otherwise)),
        handler_(std::make_unique<Held<Handler>>(std::move(handler))) {}

  executor_type get_executor() const noexcept { return executor_; }
  void operator()(Args... args) { handler_.release()->run(args...); }

 private:
  struct Base {
    virtual ~Base() = default;
    /// Calls the handler after deleting this, because the handler may begin the next operation.
    virtual void run(Args... args) = 0;
  };
  template <typename Handler>
  struct Held final : Base {
    explicit Held(Handler then) : handler(std::move(then)) {}
    void run(Args... args) override {
      Handler mine(std::move(handler));
      delete this;
      mine(args...);
    }
    Handler handler;
  };

  executor_type executor_;
  std::unique_ptr<Base> handler_;
};

/// The first nonempty buffers of a buffer sequence; kMost limits the buffers of one operation.
template <typename Buffer>
class FewBuffers {
 public:
  using value_type = Buffer;
  using const_iterator = const Buffer*;

  template <typename Buffers>
  explicit FewBuffers(const Buffers& buffers) {
    const auto end = net::buffer_sequence_end(buffers);
    for (auto at = net::buffer_sequence_begin(buffers); at != end && count_ < kMost; ++at) {
      const Buffer buffer(*at);
      if (buffer.size() > 0) buffers_[count_++] = buffer;
    }
  }
  const_iterator begin() const { return buffers_.data(); }
  const_iterator end() const { return buffers_.data() + count_; }

 private:
  static constexpr size_t kMost = 8;
  std::array<Buffer, kMost> buffers_;
  size_t count_ = 0;
};

class ByteStream {
 public:
  using next_layer_type = boost::beast::tcp_stream;
  using executor_type = next_layer_type::executor_type;
  using Moved = Completion<SystemError, size_t>;  ///< receives the number of bytes read or written
  using Done = Completion<SystemError>;

  /// A null `context` means no TLS.
  ByteStream(net::ip::tcp::socket socket, std::shared_ptr<TlsContext> context);

  executor_type get_executor() { return tcp_.get_executor(); }
  next_layer_type& lowest() { return tcp_; }
  net::ip::tcp::socket& socket() { return tcp_.socket(); }
  bool has_tls() const { return tls_.has_value(); }
  /// Returns the time of now_s() at which the last piece was passed to the socket. During an
  /// unfinished write, it is also the time at which the client had taken the previous piece.
  double piece_began_s() const { return piece_began_s_; }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return net::async_initiate<Token, void(SystemError, size_t)>(
        [this](auto handler, const FewBuffers<net::mutable_buffer>& some) {
          read_some(some, Moved(std::move(handler), get_executor()));
        },
        token, FewBuffers<net::mutable_buffer>(buffers));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return net::async_initiate<Token, void(SystemError, size_t)>(
        [this](auto handler, const FewBuffers<net::const_buffer>& some) {
          write_some(some, Moved(std::move(handler), get_executor()));
        },
        token, FewBuffers<net::const_buffer>(buffers));
  }
  /// Makes the server's side of the TLS handshake. async_shutdown() sends TLS's last message.
  template <typename Token>
  auto async_handshake(Token&& token) {
    return net::async_initiate<Token, void(SystemError)>(
        [this](auto handler) { handshake(Done(std::move(handler), get_executor())); }, token);
  }
  template <typename Token>
  auto async_shutdown(Token&& token) {
    return net::async_initiate<Token, void(SystemError)>(
        [this](auto handler) { shut(Done(std::move(handler), get_executor())); }, token);
  }

 private:
  friend void teardown(boost::beast::role_type role, ByteStream& stream, SystemError& error);
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, ByteStream& stream, Handler&& handler);

  void read_some(const FewBuffers<net::mutable_buffer>& buffers, Moved then);
  void write_some(const FewBuffers<net::const_buffer>& buffers, Moved then);
  void handshake(Done then);
  void shut(Done then);
  void tear_down(boost::beast::role_type role, Done then);

  std::shared_ptr<TlsContext> context_;
  next_layer_type tcp_;
  std::optional<boost::asio::ssl::stream<next_layer_type&>> tls_;
  double piece_began_s_ = 0;
};

// Beast finds these two functions, which end a stream, by argument-dependent lookup.
void beast_close_socket(ByteStream& stream);
void teardown(boost::beast::role_type role, ByteStream& stream, SystemError& error);
template <typename Handler>
void async_teardown(boost::beast::role_type role, ByteStream& stream, Handler&& handler) {
  stream.tear_down(role, ByteStream::Done(std::forward<Handler>(handler), stream.get_executor()));
}

/// Makes a server's context from PEM files, for TLS 1.2 and newer. Throws LoadError.
std::shared_ptr<TlsContext> make_tls_context(const std::string& certificate_file,
                                             const std::string& key_file);

}  // namespace syrinx
