// The client against good, bad and hostile servers; each answers with bytes that the test chooses.
// clang-format off
#include "bench/asio.h"  // must be first; the header explains why
// clang-format on
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "bench/load.h"

namespace syrinx {
namespace {

using net::ip::tcp;

/// The answer on a connection: pieces, each after a pause. The connection is then closed.
struct Script {
  std::vector<std::pair<int, std::string>> pieces;  ///< milliseconds, bytes
  bool keep = false;  ///< answer further requests on the same connection
};

/// A server on its own thread that handles one connection at a time and reads whole requests.
/// Connections use the scripts in turn; the last script is repeated.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<Script> scripts)
      : scripts_(std::move(scripts)),
        acceptor_(io_, tcp::endpoint(net::ip::address_v4::loopback(), 0)),
        thread_([this] { serve(); }) {}
  ~ScriptedServer() {
    stopping_ = true;
    SystemError ignored;
    tcp::socket poke(io_);
    poke.connect(acceptor_.local_endpoint(), ignored);
    poke.close(ignored);
    thread_.join();
  }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  const std::string& last_request() const { return last_request_; }
  int connections() const { return connections_; }

 private:
  void serve() {
    size_t next = 0;
    while (!stopping_) {
      tcp::socket socket(io_);
      SystemError error;
      acceptor_.accept(socket, error);
      if (error || stopping_) return;
      ++connections_;
      bool more = true;
      while (more) {
        const Script& script = scripts_[std::min(next, scripts_.size() - 1)];
        if (!read_request(socket)) break;
        ++next;
        for (const auto& [ms, bytes] : script.pieces) {
          std::this_thread::sleep_for(std::chrono::milliseconds(ms));
          net::write(socket, net::buffer(bytes), error);
        }
        more = script.keep;
      }
    }
  }

  bool read_request(tcp::socket& socket) {
    std::string bytes;
    SystemError error;
    const size_t head = net::read_until(socket, net::dynamic_buffer(bytes), "\r\n\r\n", error);
    if (error) return false;
    const size_t at = bytes.find("Content-Length: ");
    const size_t length = std::stoul(bytes.substr(at + 16));
    while (bytes.size() < head + length) {
      char more[4096];
      const size_t count = socket.read_some(net::buffer(more), error);
      if (error) return false;
      bytes.append(more, count);
    }
    last_request_ = bytes;
    return true;
  }

  std::vector<Script> scripts_;
  net::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::string last_request_;
  std::thread thread_;
};

std::string head(const std::string& more) { return "HTTP/1.1 200 OK\r\n" + more + "\r\n"; }
std::string chunk(const std::string& data) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  return size + data + "\r\n";
}
const std::string kChunked =
    "Content-Type: audio/pcm\r\nX-Sample-Rate: 1000\r\n"
    "Transfer-Encoding: chunked\r\n";
const std::string kLoud(200, '\x40');  // 100 samples, 0.1 s at 1000 Hz

std::vector<RequestRecord> ask(const ScriptedServer& server, int times = 1,
                               HttpTargetOptions options = {}) {
  net::io_context io;
  options.url = server.url();
  if (options.timeout_s == 60) options.timeout_s = 2;
  const auto target = make_http_target(io, options);
  TrafficOptions traffic;
  traffic.repeats = times;
  traffic.texts = {"say \"this\""};
  return run_load(io, *target, {LoadKind::kStreams, 1}, traffic).requests;
}

TEST(HttpTarget, MeasuresAStream) {
  const ScriptedServer server({{{{20, head(kChunked)},
                                 {20, chunk(std::string(100, '\0') + kLoud)},
                                 {250, chunk(kLoud)},
                                 {0, "0\r\n\r\n"}}}});
  const RequestRecord record = ask(server)[0];
  EXPECT_TRUE(record.ok()) << record.detail;
  EXPECT_GE(*record.first_byte_s, 0.02);
  EXPECT_GE(*record.first_audio_s, *record.first_byte_s + 0.015);
  EXPECT_NEAR(*record.audible_s, *record.first_audio_s + 0.05, 1e-9);
  EXPECT_NEAR(record.playback.audio_s, 0.25, 1e-9);
  EXPECT_EQ(record.playback.underruns, 1);  // 0.15 s of audio, then a pause of 0.25 s
  EXPECT_NEAR(record.playback.max_underrun_s, 0.1, 0.05);
  EXPECT_GE(record.total_s, 0.29);
}

TEST(HttpTarget, AsksAsOpenAiDoes) {
  const ScriptedServer server({{{{0, head(kChunked) + chunk(kLoud) + "0\r\n\r\n"}}}});
  HttpTargetOptions options;
  options.model = "m";
  options.api_key = "secret";
  options.fields = R"({"temperature": 0.5, "voice": "v"})";
  ASSERT_TRUE(ask(server, 1, options)[0].ok());
  const std::string& request = server.last_request();
  EXPECT_TRUE(request.starts_with("POST /v1/audio/speech HTTP/1.1\r\n"));
  for (const char* part :
       {"Authorization: Bearer secret\r\n", "\"input\":\"say \\\"this\\\"\"", "\"model\":\"m\"",
        "\"response_format\":\"pcm\"", "\"temperature\":0.5", "\"voice\":\"v\"", "\"seed\":0"}) {
    EXPECT_NE(request.find(part), std::string::npos) << part << "\n" << request;
  }
}

TEST(HttpTarget, KeepsConnectionsAndOutlivesTheirEnd) {
  const Script good{{{0, head(kChunked) + chunk(kLoud) + "0\r\n\r\n"}}, true};
  const Script last{good.pieces, false};  // closed after the answer without "Connection: close"
  const ScriptedServer server({good, good, last, good});
  for (const RequestRecord& record : ask(server, 5)) EXPECT_TRUE(record.ok()) << record.detail;
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpTarget, DistinguishesFailures) {
  const std::string json = R"({"error": {"message": "no voice <x>"}})";
  const struct {
    const char* name;
    Script script;
    Failure want;
    const char* detail;
  } cases[] = {
      {"status",
       {{{0, "HTTP/1.1 400 Bad\r\nContent-Length: " + std::to_string(json.size()) + "\r\n\r\n" +
                 json}}},
       Failure::kStatus,
       "400 no voice <x>"},
      {"status without a body",
       {{{0, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"}}},
       Failure::kStatus,
       "503"},
      {"cut in a chunk", {{{0, head(kChunked) + "ffff\r\nabc"}}}, Failure::kCut, ""},
      {"cut between chunks", {{{0, head(kChunked) + chunk(kLoud)}}}, Failure::kCut, ""},
      {"cut before the head", {{{0, "HTTP/1.1 2"}}}, Failure::kCut, ""},
      {"nothing", {{}}, Failure::kCut, ""},
      {"no samples", {{{0, head(kChunked) + "0\r\n\r\n"}}}, Failure::kSilent, ""},
      {"one byte", {{{0, head(kChunked) + chunk("x") + "0\r\n\r\n"}}}, Failure::kSilent, ""},
      {"not HTTP", {{{0, "SSH-2.0-OpenSSH_9.2\r\n\r\n"}}}, Failure::kProtocol, ""},
      {"a bad chunk size", {{{0, head(kChunked) + "zz\r\n"}}}, Failure::kProtocol, ""},
      {"huge headers",
       {{{0, head("X: " + std::string(1 << 17, 'a') + "\r\n")}}},
       Failure::kProtocol,
       ""},
      {"JSON instead of audio",
       {{{0, head("Content-Type: application/json\r\nContent-Length: 2\r\n") + "{}"}}},
       Failure::kProtocol,
       "application/json"},
      {"too slow", {{{0, head(kChunked)}, {2500, "0\r\n\r\n"}}}, Failure::kTimeout, ""},
  };
  for (const auto& c : cases) {
    const ScriptedServer server({c.script});
    const RequestRecord record = ask(server)[0];
    EXPECT_EQ(record.failure, c.want)
        << c.name << ": " << failure_name(record.failure) << " " << record.detail;
    EXPECT_NE(record.detail.find(c.detail), std::string::npos) << c.name << ": " << record.detail;
  }
}

TEST(HttpTarget, NoServerListens) {
  std::string url;
  { url = ScriptedServer(std::vector<Script>(1)).url(); }
  net::io_context io;
  const auto target = make_http_target(io, {.url = url});
  TrafficOptions traffic;
  traffic.repeats = 1;
  traffic.texts = {"x"};
  EXPECT_EQ(run_load(io, *target, {LoadKind::kStreams, 1}, traffic).requests[0].failure,
            Failure::kConnect);
}

TEST(HttpTarget, UrlsAreChecked) {
  net::io_context io;
  for (const char* url :
       {"", "localhost:80", "ftp://x", "https://x", "http://", "http://:80", "http://x:0",
        "http://x:99999", "http://x:8a", "http://[::1", "http://a\r\nb/", "http://a b"}) {
    EXPECT_THROW(make_http_target(io, {.url = url}), LoadError) << url;
  }
  EXPECT_THROW(make_http_target(io, {.url = "http://127.0.0.1", .fields = "[1]"}), LoadError);
  EXPECT_NO_THROW(make_http_target(io, {.url = "http://127.0.0.1:8080/v1/"}));
}

TEST(Load, OpenLoopDoesNotWaitForAnswers) {
  // One connection at a time, 0.2 s each. A closed loop would make at most 5 requests a second.
  const ScriptedServer server({{{{200, head(kChunked) + chunk(kLoud) + "0\r\n\r\n"}}}});
  net::io_context io;
  const auto target = make_http_target(io, {.url = server.url(), .timeout_s = 30});
  TrafficOptions traffic;
  traffic.duration_s = 1;
  traffic.warmup_s = 0.2;
  traffic.texts = {"x"};
  const LoadResult result = run_load(io, *target, {LoadKind::kRate, 20}, traffic);
  EXPECT_GT(result.requests.size(), 12u);
  int warm = 0;
  for (const RequestRecord& record : result.requests) {
    EXPECT_TRUE(record.ok()) << record.detail;
    EXPECT_LT(record.due_s, 1.2);
    EXPECT_LT(record.lag_s, 0.15);
    EXPECT_EQ(record.warmup, record.due_s < 0.2);
    warm += record.warmup;
  }
  EXPECT_GT(warm, 0);
  // The queue grows: later requests wait longer.
  EXPECT_GT(*result.requests.back().first_audio_s, *result.requests.front().first_audio_s + 0.5);
}

TEST(Load, SkipsWhatWouldBeTooMuch) {
  const ScriptedServer server({{{{300, head(kChunked) + chunk(kLoud) + "0\r\n\r\n"}}}});
  net::io_context io;
  const auto target = make_http_target(io, {.url = server.url()});
  TrafficOptions traffic;
  traffic.duration_s = 0.3;
  traffic.max_in_flight = 2;
  traffic.texts = {"x"};
  const LoadResult result = run_load(io, *target, {LoadKind::kRate, 40}, traffic);
  int skipped = 0;
  for (const RequestRecord& record : result.requests) {
    skipped += record.failure == Failure::kSkipped;
  }
  EXPECT_GT(skipped, 3);
}

TEST(Load, ReplaysATrace) {
  const Script good{{{0, head(kChunked) + chunk(kLoud) + "0\r\n\r\n"}}};
  const ScriptedServer server({good});
  net::io_context io;
  const auto target = make_http_target(io, {.url = server.url()});
  TrafficOptions traffic;
  traffic.trace =
      parse_trace("{\"time\":0.4,\"text\":\"b\",\"speed\":1.5}\n{\"time\":0,\"text\":\"a\"}", "t");
  const LoadResult result = run_load(io, *target, {LoadKind::kTrace, 2}, traffic);
  ASSERT_EQ(result.requests.size(), 2u);
  EXPECT_NEAR(result.requests[1].due_s, 0.2, 1e-6);
  EXPECT_NE(server.last_request().find("\"speed\":1.5"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
