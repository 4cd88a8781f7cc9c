// clang-format off
#include "bench/asio.h"  // must be first; the header explains why
// clang-format on
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "bench/pcm_reader.h"
#include "bench/target.h"
#include "io/file.h"

namespace syrinx {
namespace http = boost::beast::http;
using boost::beast::tcp_stream;
using net::ip::tcp;
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kMaxAnswerBytes = size_t{4} << 30;
constexpr uint32_t kMaxHeaderBytes = 64 << 10;
constexpr size_t kMaxFaultBytes = 300;  // longest part of an error's body in a message

// GCC 12 loses temporaries inside a co_await expression, so every argument has a name and every
// co_await is a statement of its own (as in the server).

/// The parts of http://host[:port][/base].
struct Url {
  std::string host, port = "80", base;
};

Url parse_url(const std::string& url) {
  const auto fail = [&](const char* what) {
    throw LoadError("'" + shown(url) + "': " + what + "; expected http://host:port");
  };
  const std::string scheme = "http://";
  if (url.starts_with("https://")) fail("TLS is not supported, put a proxy in front");
  if (!url.starts_with(scheme)) fail("not an http URL");
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ') fail("has a space or a control character");
  }
  Url out;
  std::string authority = url.substr(scheme.size());
  if (const size_t slash = authority.find('/'); slash != std::string::npos) {
    out.base = authority.substr(slash);
    authority.resize(slash);
  }
  while (!out.base.empty() && out.base.back() == '/') out.base.pop_back();
  if (out.base.ends_with("/v1")) out.base.resize(out.base.size() - 3);
  if (authority.starts_with("[")) {
    const size_t end = authority.find(']');
    if (end == std::string::npos) fail("the bracket is not closed");
    out.host = authority.substr(1, end - 1);
    authority = authority.substr(end + 1);
  } else {
    out.host = authority.substr(0, authority.find(':'));
    authority = authority.substr(out.host.size());
  }
  if (!authority.empty()) out.port = authority.substr(1);
  int port = 0;
  const auto parsed = std::from_chars(out.port.data(), out.port.data() + out.port.size(), port);
  if (parsed.ptr != out.port.data() + out.port.size() || port < 1 || port > 65535) {
    fail("the port is not a number from 1 to 65535");
  }
  if (out.host.empty()) fail("the host is missing");
  return out;
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Returns the number from 1000 to 384000 that follows `mark` in `text`; 0 without such a number.
int number_after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return 0;
  int value = 0;
  std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), value);
  return value >= 1000 && value <= 384000 ? value : 0;
}

/// One connection, reused as long as the server permits it.
struct Wire {
  explicit Wire(net::io_context& io) : stream(io) {}
  tcp_stream stream;
  boost::beast::flat_buffer buffer;
};

/// One request and its answer.
struct Exchange {
  std::string bytes;  ///< the request as sent
  std::shared_ptr<Meter> meter;
  std::chrono::steady_clock::time_point deadline;
  // The result of the exchange.
  Failure failure = Failure::kNone;
  std::string detail;
  int status = 0;
  bool reusable = false;     ///< the connection can be used for another request
  bool nothing_came = true;  ///< no byte of the answer has arrived
};

class HttpTarget : public BenchTarget {
 public:
  HttpTarget(net::io_context& io, HttpTargetOptions options)
      : io_(io), options_(std::move(options)), url_(parse_url(options_.url)) {
    if (!options_.fields.empty()) {
      fields_ = nlohmann::json::parse(options_.fields, nullptr, false);
      if (!fields_.is_object()) throw LoadError("the extra fields must be a JSON object");
    }
    SystemError error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(url_.host, url_.port, error);
    if (error) throw LoadError("cannot find " + url_.host + ": " + error.message());
    for (const auto& entry : found) endpoints_.push_back(entry.endpoint());
    const bool six = url_.host.find(':') != std::string::npos;
    head_ = "POST " + url_.base +
            "/v1/audio/speech HTTP/1.1\r\nHost: " + (six ? "[" + url_.host + "]" : url_.host) +
            ":" + url_.port +
            "\r\nContent-Type: application/json\r\nAccept: audio/*\r\nUser-Agent: syrinx-bench\r\n";
    if (!options_.api_key.empty()) head_ += "Authorization: Bearer " + options_.api_key + "\r\n";
    if (!options_.keep_alive) head_ += "Connection: close\r\n";
  }

  std::string describe() const override { return options_.url; }

  void start(const Utterance& utterance, std::shared_ptr<Meter> meter,
             std::function<void()> done) override {
    auto exchange = std::make_shared<Exchange>();
    exchange->bytes = request(utterance);
    exchange->meter = std::move(meter);
    exchange->deadline = std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                             std::chrono::duration<double>(options_.timeout_s));
    exchange->meter->sent(now_s());
    net::co_spawn(
        io_, speak(exchange), [exchange, done = std::move(done)](const std::exception_ptr& error) {
          if (error) {
            exchange->failure = Failure::kProtocol;
            exchange->detail = "the client failed";
          }
          exchange->meter->end(now_s(), exchange->failure, exchange->detail, exchange->status);
          done();
        });
  }

 private:
  std::string request(const Utterance& utterance) const {
    nlohmann::json body = nlohmann::json::object();
    if (!options_.model.empty()) body["model"] = options_.model;
    body["input"] = utterance.text;
    if (!utterance.voice.empty()) body["voice"] = utterance.voice;
    if (!utterance.language.empty()) body["language"] = utterance.language;
    if (!utterance.instructions.empty()) body["instructions"] = utterance.instructions;
    if (utterance.seed) body["seed"] = *utterance.seed;
    body["response_format"] = "pcm";
    if (fields_.is_object()) body.update(fields_);
    if (!utterance.fields.empty()) body.update(nlohmann::json::parse(utterance.fields));
    const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return head_ + "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  }

  net::awaitable<void> speak(std::shared_ptr<Exchange> exchange) {
    // The server may have closed a kept connection. Then a new connection is tried.
    while (!idle_.empty()) {
      std::unique_ptr<Wire> wire = std::move(idle_.back());
      idle_.pop_back();
      co_await exchange_on(*wire, *exchange);
      if (exchange->failure == Failure::kCut && exchange->nothing_came) {
        exchange->failure = Failure::kNone;
        exchange->detail.clear();
        continue;
      }
      if (exchange->reusable) idle_.push_back(std::move(wire));
      co_return;
    }
    auto wire = std::make_unique<Wire>(io_);
    SystemError error;
    wire->stream.expires_at(exchange->deadline);
    co_await wire->stream.async_connect(endpoints_, net::redirect_error(net::use_awaitable, error));
    if (error) {
      fail(*exchange, error, Failure::kConnect);
      co_return;
    }
    SystemError ignored;
    wire->stream.socket().set_option(tcp::no_delay(true), ignored);
    co_await exchange_on(*wire, *exchange);
    if (exchange->reusable) idle_.push_back(std::move(wire));
  }

  net::awaitable<void> exchange_on(Wire& wire, Exchange& exchange) {
    SystemError error;
    wire.stream.expires_at(exchange.deadline);
    co_await net::async_write(wire.stream, net::buffer(exchange.bytes),
                              net::redirect_error(net::use_awaitable, error));
    if (error) {
      fail(exchange, error, Failure::kCut);
      co_return;
    }
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(kMaxAnswerBytes);
    const size_t header_bytes = co_await http::async_read_header(
        wire.stream, wire.buffer, parser, net::redirect_error(net::use_awaitable, error));
    exchange.nothing_came = header_bytes == 0 && wire.buffer.size() == 0 && !parser.got_some();
    if (error) {
      fail(exchange, error, Failure::kCut);
      co_return;
    }
    exchange.nothing_came = false;
    exchange.status = static_cast<int>(parser.get().result_int());
    if (exchange.status == 200) {
      exchange.meter->first_byte(now_s());
      co_await read_audio(wire, parser, exchange);
    } else {
      co_await read_fault(wire, parser, exchange);
    }
    exchange.reusable = options_.keep_alive && parser.is_done() && parser.keep_alive() &&
                        exchange.failure != Failure::kTimeout;
  }

  net::awaitable<void> read_audio(Wire& wire, http::response_parser<http::buffer_body>& parser,
                                  Exchange& exchange) {
    const std::string_view type = view(parser.get()[http::field::content_type]);
    int rate_hz = number_after(view(parser.get()["X-Sample-Rate"]), "");
    if (rate_hz == 0) rate_hz = number_after(type, "rate=");
    PcmReader reader(rate_hz > 0 ? rate_hz : options_.sample_rate_hz);
    for (const char* wrong : {"json", "text/", "mpeg", "ogg", "opus", "aac", "mp4", "flac"}) {
      if (type.find(wrong) == std::string_view::npos) continue;
      exchange.failure = Failure::kProtocol;
      exchange.detail = "expected pcm audio, got " + shown(type, 80);
      co_return;
    }
    std::vector<char> bytes(kReadBytes);
    while (!parser.is_done()) {
      const size_t count = co_await read_some(wire, parser, bytes, exchange);
      const double now = now_s();
      const auto samples = reader.take({bytes.data(), count});
      exchange.meter->audio(now, samples, reader.rate_hz());
      if (!reader.fault().empty()) {
        exchange.failure = Failure::kProtocol;
        exchange.detail = reader.fault();
      }
      if (exchange.failure != Failure::kNone) co_return;
    }
  }

  /// Stores the beginning of an error's body in `detail`.
  net::awaitable<void> read_fault(Wire& wire, http::response_parser<http::buffer_body>& parser,
                                  Exchange& exchange) {
    std::string text;
    std::vector<char> bytes(4096);
    while (!parser.is_done() && text.size() < kReadBytes && exchange.failure == Failure::kNone) {
      const size_t count = co_await read_some(wire, parser, bytes, exchange);
      text.append(bytes.data(), count);
    }
    exchange.failure = Failure::kStatus;
    const nlohmann::json body = nlohmann::json::parse(text, nullptr, false);
    if (body.is_object() && body.contains("error") && body["error"].is_object() &&
        body["error"].contains("message") && body["error"]["message"].is_string()) {
      text = body["error"]["message"].get<std::string>();
    }
    exchange.detail = concat(exchange.status, " ", shown(text, kMaxFaultBytes));
  }

  /// Reads some bytes of the body and returns their number. On an error, also records the failure.
  net::awaitable<size_t> read_some(Wire& wire, http::response_parser<http::buffer_body>& parser,
                                   std::vector<char>& bytes, Exchange& exchange) {
    SystemError error;
    parser.get().body().data = bytes.data();
    parser.get().body().size = bytes.size();
    parser.get().body().more = true;
    co_await http::async_read_some(wire.stream, wire.buffer, parser,
                                   net::redirect_error(net::use_awaitable, error));
    if (error && error != http::error::need_buffer) fail(exchange, error, Failure::kCut);
    const size_t left = parser.get().body().size;
    co_return bytes.size() - left;
  }

  /// Records the failure. `otherwise`: the kind of failure for errors other than timeouts and
  /// invalid HTTP.
  static void fail(Exchange& exchange, const SystemError& error, Failure otherwise) {
    const SystemError bad_http = http::error::bad_method;  // gives the category of HTTP errors
    const bool broke_off =
        error == http::error::end_of_stream || error == http::error::partial_message;
    exchange.failure = otherwise;
    if (error == boost::beast::error::timeout) exchange.failure = Failure::kTimeout;
    if (error.category() == bad_http.category() && !broke_off)
      exchange.failure = Failure::kProtocol;
    exchange.detail = error.message();
  }

  net::io_context& io_;
  const HttpTargetOptions options_;
  const Url url_;
  nlohmann::json fields_;
  std::vector<tcp::endpoint> endpoints_;
  std::string head_;
  std::vector<std::unique_ptr<Wire>> idle_;
};

}  // namespace

std::unique_ptr<BenchTarget> make_http_target(net::io_context& io, HttpTargetOptions options) {
  return std::make_unique<HttpTarget>(io, std::move(options));
}

}  // namespace syrinx
