#include "server/http/session.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "base/clock.h"
#include "server/access/key_headers.h"
#include "server/http/chat_stream.h"
#include "server/http/server_state.h"
#include "server/http/speech_batch.h"
#include "server/http/speech_stream.h"
#include "server/http/transcription_stream.h"
#include "server/http/voice_upload.h"
#include "server/http/ws_connection.h"
#include "server/net/connection.h"
#include "server/net/content_coding.h"
#include "server/net/request_target.h"
#include "server/net/run_on.h"
#include "server/request/load_header.h"

namespace syrinx {
namespace http = boost::beast::http;
namespace {

// GCC 12 loses temporaries inside a co_await expression: here and in the other coroutines every
// argument has a name and every co_await is a statement of its own.

bool is_http_fault(const SystemError& error) {
  return error.category() == make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

std::string_view query_of(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

Reply too_large(size_t limit) {
  return reply_of({.status = 413,
                   .message = concat("The body may have at most ", limit, " bytes."),
                   .code = "body_too_large"});
}

Reply parse_fault(const SystemError& error, const ServerOptions& options) {
  ApiError fault{.message = "This is not an HTTP/1.1 request: " + error.message() + ".",
                 .code = "invalid_http"};
  if (error == http::error::header_limit) {
    fault = {
        .status = 431,
        .message = concat("The headers may have at most ", options.max_header_bytes, " bytes."),
        .code = "headers_too_large"};
  }
  return reply_of(fault);
}

/// Refuses a transfer coding other than chunked (RFC 9112, 6.1): the body would be compressed, or
/// its end unknown.
std::optional<Reply> refuse_transfer_coding(const http::request<http::string_body>& message) {
  const auto [first, last] = message.equal_range(http::field::transfer_encoding);
  if (first == last) return {};
  if (std::next(first) == last && same_but_case(trimmed(view(first->value())), "chunked")) {
    return {};
  }
  return reply_of({.status = 501,
                   .message = "Transfer-Encoding must be 'chunked'; "
                              "send a compressed body with Content-Encoding: gzip.",
                   .code = "unsupported_transfer_encoding"});
}

/// Requires exactly one Host header (RFC 9112, 3.2); otherwise the requested site is unknown.
std::optional<Reply> refuse_hosts(const http::request<http::string_body>& message) {
  const auto count = std::distance(message.equal_range(http::field::host).first,
                                   message.equal_range(http::field::host).second);
  // RFC 9110, 7.2: a name and a port, but not a user as in a URL.
  const bool strange = count == 1 && message[http::field::host].find_first_of("@/\\?#, \t") !=
                                         std::string_view::npos;
  if (!strange && (count == 1 || (count == 0 && message.version() < 11))) return {};
  return reply_of({.message = strange      ? "The Host header must be a name and a port."
                              : count == 0 ? "An HTTP/1.1 request needs a Host header."
                                           : "A request must have exactly one Host header.",
                   .code = "invalid_http"});
}

/// Converts the target to the form of routes; a host in it replaces the Host header (RFC 9112,
/// 3.2.2).
void read_target(http::request<http::string_body>& message) {
  const RequestTarget target = request_target(view(message.target()));
  if (!target.host.empty()) message.set(http::field::host, target.host);
  message.target(target.path);
}

Reply unknown_content_coding(std::string_view name) {
  Reply reply = reply_of(
      {.status = 415,
       .message = concat("This server does not decode 'Content-Encoding: ", name.substr(0, 100),
                         "'; send gzip, or an "
                         "uncompressed body."),
       .code = "unsupported_media_type"});
  reply.headers.emplace_back("Accept-Encoding", "gzip");  // RFC 9110, 12.5.3
  return reply;
}

}  // namespace

struct Session::Incoming {
  http::request_parser<http::string_body> parser;
  std::string id;
  bool keep_alive = false;
  bool may_be_large = false;  ///< the request's body may contain recordings
  std::string credential;     ///< "Bearer KEY", from the header that the client's vendor uses
  Headers headers;            ///< headers of each answer to the request
  std::shared_ptr<void> body_permit;  ///< permit for a large body; may be null

  const http::request<http::string_body>& message() const { return parser.get(); }
  std::string_view header(http::field field) const { return view(message()[field]); }
  RequestHead head() const {
    const std::string_view target = view(message().target());
    return {.method = view(message().method_string()),
            .path = target.substr(0, target.find('?')),
            .query = query_of(target),
            .content_type = header(http::field::content_type),
            .authorization = credential,
            .accept = header(http::field::accept),
            .elevenlabs = message().find("xi-api-key") != message().end(),
            .browser = browser()};
  }
  BrowserFacts browser() const {
    const http::verb verb = message().method();
    const bool reads =
        verb == http::verb::get || verb == http::verb::head || verb == http::verb::options;
    return {.host = header(http::field::host),
            .origin = header(http::field::origin),
            .requested_headers = header(http::field::access_control_request_headers),
            .reads_only = reads && header(http::field::upgrade).empty()};
  }
};

Session::Session(ServerState& server, net::ip::tcp::socket socket, const net::ip::address& address)
    : server_(server),
      address_(server.hash_address(address)),
      connection_(std::make_shared<Connection>(std::move(socket), server.tls)),
      late_(server.draining) {
  server_.sessions.insert(this);
  ++server_.addresses[address_];
}

Session::~Session() {
  server_.sessions.erase(this);
  const auto at = server_.addresses.find(address_);
  if (--at->second == 0) server_.addresses.erase(at);
}

/// Returns the hash of the client's key. Without keys, returns the hash of its address.
uint64_t Session::client(const Incoming& incoming) const {
  const auto key = server_.keys.find(incoming.credential);
  return key ? hash_client(concat("key ", *key), server_.salt) : address_;
}

void Session::close() { connection_->close(); }

net::awaitable<void> Session::run() {
  try {
    idle_ = true;
    bool more = co_await connection_->handshake(server_.options.header_timeout_s);
    const bool agreed = more;
    while (more) more = co_await serve_one();
    if (agreed) co_await connection_->shut_tls();
  } catch (const std::exception& error) {
    server_.log(std::string("connection failed: ") + error.what());
  }
  connection_->close();
}

/// Answers a request. Returns true when the connection may take another request.
net::awaitable<bool> Session::serve_one() {
  idle_ = true;
  const bool begun = co_await connection_->wait_for_bytes(server_.options.idle_timeout_s);
  idle_ = false;
  if (!begun) co_return false;
  if (!skip_empty_lines()) co_return true;

  Incoming incoming;
  incoming.id = server_.new_request_id();
  const bool has_head = co_await read_head(incoming);
  if (!has_head) co_return false;
  ++server_.requests;
  if (const auto refusal = refuse_hosts(incoming.message())) {
    co_await refuse(incoming, *refusal);
    co_return false;
  }
  if (const auto refusal = refuse_transfer_coding(incoming.message())) {
    co_await refuse(incoming, *refusal);
    co_return false;
  }
  read_target(incoming.parser.get());
  incoming.credential = bearer_of({.authorization = incoming.header(http::field::authorization),
                                   .xi_api_key = view(incoming.message()["xi-api-key"]),
                                   .x_api_key = view(incoming.message()["x-api-key"]),
                                   .subprotocols = {},
                                   .query = {}});
  incoming.keep_alive = incoming.message().version() >= 11 && incoming.message().keep_alive();

  if (wants_websocket(incoming.message())) {
    const WsUpgrade upgrade{.request = incoming.message(),
                            .id = incoming.id,
                            .browser = incoming.browser(),
                            .address = address_};
    std::optional<Reply> refusal;
    co_await serve_websocket(server_, connection_, upgrade, refusal);
    if (refusal) co_await refuse(incoming, *refusal);
    co_return false;
  }
  incoming.headers = cors_headers(server_.options.access, incoming.browser());
  add_load(incoming);
  auto routed = route(incoming.head(), server_.view());
  if (Reply* reply = std::get_if<Reply>(&routed)) {
    if (!incoming.parser.is_done()) {  // the rest of the body would be read as the next request
      co_await refuse(incoming, *reply);
      co_return false;
    }
    const bool sent = co_await send(incoming, *reply);
    co_return sent&& incoming.keep_alive && !server_.draining;
  }
  const uint64_t who = client(incoming);
  ClientLimits::Verdict verdict = server_.limits.admit(who, now_s());
  incoming.headers.insert(incoming.headers.end(), verdict.headers.begin(), verdict.headers.end());
  if (verdict.refusal) {
    const Reply refusal = reply_of(*verdict.refusal);
    co_await refuse(incoming, refusal);
    co_return false;
  }
  const auto* about_voices = std::get_if<VoiceRoute>(&routed);
  const auto* wish = std::get_if<SpeechRoute>(&routed);
  const auto* to_write_down = std::get_if<TranscriptionRoute>(&routed);
  const ServerView served = server_.view();
  const bool chats = wish != nullptr && wish->chat;
  incoming.may_be_large =
      to_write_down != nullptr ||
      (chats ? may_hear(served) : (wish == nullptr || !wish->batch) && may_clone(served));
  if (const auto refusal = make_room(incoming)) {
    co_await refuse(incoming, *refusal);
    co_return false;
  }
  const bool complete = co_await read_body(incoming);
  if (!complete) co_return false;
  if (about_voices != nullptr) {
    const bool sent = co_await change_voices(incoming, *about_voices, who);
    co_return sent&& incoming.keep_alive && !server_.draining;
  }
  if (to_write_down != nullptr) {
    TranscriptionExchange recording{
        .request_id = incoming.id,
        .body = std::move(incoming.parser.get().body()),
        .content_type = std::string(incoming.header(http::field::content_type)),
        .translate = to_write_down->translate,
        .keep_alive = incoming.keep_alive && !server_.draining,
        .chunked = incoming.message().version() >= 11,
        .client = who,
        .headers = std::move(incoming.headers),
        .body_permit = std::move(incoming.body_permit)};
    const bool again = co_await answer_transcription(server_, connection_, recording);
    co_return again && !server_.draining;
  }
  SpeechExchange exchange{
      .request_id = incoming.id,
      .body = std::move(incoming.parser.get().body()),
      .keep_alive = incoming.keep_alive && !server_.draining,
      .chunked = incoming.message().version() >= 11,
      .trailers = incoming.header(http::field::te).find("trailers") != std::string_view::npos,
      .client = who,
      .headers = std::move(incoming.headers),
      .body_permit = std::move(incoming.body_permit)};
  const SpeechRoute& speech = std::get<SpeechRoute>(routed);
  exchange.vendor = speech.vendor;
  if (exchange.vendor) exchange.query = query_of(view(incoming.message().target()));
  bool more = false;
  if (speech.chat) {
    more = co_await answer_chat(server_, connection_, exchange, *speech.chat);
  } else if (speech.batch) {
    more = co_await answer_batch(server_, connection_, exchange);
  } else {
    more = co_await stream_speech(server_, connection_, exchange);
  }
  co_return more && !server_.draining;
}

/// Adds the server's load to the answer if the request asks for it and a model is loaded.
void Session::add_load(Incoming& incoming) const {
  const std::string_view format = view(incoming.message()[kLoadFormatHeader]);
  if (format.empty() || !server_.models) return;
  if (auto header = load_header(format, load_of(*server_.models))) {
    incoming.headers.push_back(std::move(*header));
  }
}

net::awaitable<bool> Session::read_head(Incoming& incoming) {
  incoming.parser.header_limit(static_cast<uint32_t>(server_.options.max_header_bytes));
  // make_room() sets the route's limit. Without any limit Boost 1.74 refuses every declared length.
  incoming.parser.body_limit(std::numeric_limits<uint64_t>::max());
  SystemError error;
  connection_->expires_after_s(server_.options.header_timeout_s);
  co_await http::async_read_header(connection_->stream(), connection_->buffer(), incoming.parser,
                                   net::redirect_error(net::use_awaitable, error));
  if (is_http_fault(error)) {
    const Reply fault = parse_fault(error, server_.options);
    co_await refuse(incoming, fault);
  }
  co_return !error;
}

/// Drops empty lines that some clients send after a body (RFC 9112, 2.2). Returns false when
/// nothing else has arrived.
bool Session::skip_empty_lines() {
  boost::beast::flat_buffer& buffer = connection_->buffer();
  const auto bytes = buffer.cdata();
  const std::string_view read(static_cast<const char*>(bytes.data()), bytes.size());
  buffer.consume(std::min(read.find_first_not_of("\r\n"), read.size()));
  return buffer.size() > 0;
}

size_t Session::max_body_bytes(const Incoming& incoming) const {
  const ServerOptions& options = server_.options;
  return incoming.may_be_large ? std::max(options.max_upload_bytes, options.max_body_bytes)
                               : options.max_body_bytes;
}

/// Takes a permit for a large body. Permits are few, as such bodies stay in memory until parsed.
std::optional<Reply> Session::take_body_permit(Incoming& incoming) {
  if (incoming.body_permit) return {};
  if (server_.uploads >= server_.options.max_uploads) {
    return reply_of(unavailable("Too many other clients send recordings; try again."));
  }
  ++server_.uploads;
  incoming.body_permit =
      std::shared_ptr<void>(&server_, [this_server = &server_](void*) { --this_server->uploads; });
  return {};
}

/// Sets the limit of the body for its route. A declared length is checked here; an undeclared
/// length is checked while the body is read.
std::optional<Reply> Session::make_room(Incoming& incoming) {
  const std::string_view coding = incoming.header(http::field::content_encoding);
  if (!content_coding(coding)) return unknown_content_coding(coding);
  const size_t limit = max_body_bytes(incoming);
  incoming.parser.body_limit(limit);
  const auto announced = incoming.parser.content_length();
  if (announced && *announced > limit) return too_large(limit);
  if (announced && *announced > server_.options.max_body_bytes) return take_body_permit(incoming);
  return {};
}

net::awaitable<bool> Session::change_voices(Incoming& incoming, const VoiceRoute& wish,
                                            uint64_t who) {
  VoiceExchange exchange{.route = wish,
                         .body = std::move(incoming.parser.get().body()),
                         .content_type = std::string(incoming.header(http::field::content_type)),
                         .client = who};
  const double began_s = now_s();
  const Reply reply = co_await answer_voice_change(server_, connection_, exchange);
  server_.log(concat(incoming.id, " voices ", reply.status,
                     " total_ms=", static_cast<int>(1e3 * (now_s() - began_s))));
  if (connection_->gone()) co_return false;
  const bool sent = co_await send(incoming, reply);
  co_return sent;
}

net::awaitable<bool> Session::read_body(Incoming& incoming) {
  if (incoming.parser.is_done()) co_return true;
  if (boost::beast::iequals(incoming.message()[http::field::expect], "100-continue")) {
    const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    const bool sent = co_await connection_->write(go_on, server_.options.body_timeout_s);
    if (!sent) co_return false;
  }
  connection_->expires_after_s(server_.options.body_timeout_s);
  while (!incoming.parser.is_done()) {
    SystemError error;
    co_await http::async_read_some(connection_->stream(), connection_->buffer(), incoming.parser,
                                   net::redirect_error(net::use_awaitable, error));
    std::optional<Reply> refusal;
    if (error == http::error::body_limit) {
      refusal = too_large(max_body_bytes(incoming));
    } else if (is_http_fault(error)) {
      refusal = parse_fault(error, server_.options);
    } else if (!error && incoming.message().body().size() > server_.options.max_body_bytes) {
      refusal = take_body_permit(incoming);  // the body's length was not declared
    }
    if (refusal) co_await refuse(incoming, *refusal);
    if (error || refusal) co_return false;
  }
  const bool decoded = co_await decode_body(incoming);
  co_return decoded;
}

/// Replaces a compressed body by the decoded one; returns false after a refusal.
net::awaitable<bool> Session::decode_body(Incoming& incoming) {
  const auto coding = content_coding(incoming.header(http::field::content_encoding));
  if (coding != ContentCoding::kGzip) co_return true;
  std::string& body = incoming.parser.get().body();
  std::optional<Reply> refusal;
  Gunzipped result;
  size_t limit = incoming.body_permit ? max_body_bytes(incoming) : server_.options.max_body_bytes;
  const auto decode = [&] { result = gunzip(body, limit); };
  co_await run_on(server_.worker, decode);
  if (result.too_large && limit < max_body_bytes(incoming)) {
    limit = max_body_bytes(incoming);
    refusal = take_body_permit(incoming);
    if (!refusal) co_await run_on(server_.worker, decode);
  }
  if (!refusal && result.too_large) refusal = too_large(limit);
  if (!refusal && result.error) refusal = reply_of(*result.error);
  if (refusal) {
    co_await refuse(incoming, *refusal);
    co_return false;
  }
  body = std::move(result.bytes);
  co_return true;
}

/// Answers a request that is not read to its end, so the connection must be closed.
net::awaitable<void> Session::refuse(Incoming& incoming, const Reply& reply) {
  incoming.keep_alive = false;
  const bool sent = co_await send(incoming, reply);
  if (!sent) co_return;
  co_await connection_->linger();
}

net::awaitable<bool> Session::send(const Incoming& incoming, const Reply& reply) {
  const bool keep = incoming.keep_alive && !server_.draining;
  Headers headers = {{"Content-Type", reply.content_type},
                     {"Content-Length", std::to_string(reply.body.size())},
                     {"X-Request-Id", incoming.id},
                     {"Connection", keep ? "keep-alive" : "close"}};
  if (reply.content_type.empty()) headers.erase(headers.begin());
  headers.insert(headers.end(), incoming.headers.begin(), incoming.headers.end());
  headers.insert(headers.end(), reply.headers.begin(), reply.headers.end());
  std::string bytes = response_head(reply.status, headers);
  if (incoming.message().method() != http::verb::head) bytes += reply.body;
  if (reply.status >= 400) server_.log(concat(incoming.id, " ", reply.status));
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent;
}

}  // namespace syrinx
