// Requests to other servers, one after another on one connection that is kept. For tools: whole
// answers, bounded. One thread an object; each waits for its answer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace syrinx {

/// What came back.
struct HttpAnswer {
  int status = 0;       ///< 0: no answer, for `failure`
  std::string failure;  ///< why; also of an answer that was cut short or too large
  std::string body;
  double retry_after_s = 0;   ///< as the server says, or 0
  std::string finish_reason;  ///< X-Finish-Reason
  int sample_rate_hz = 0;     ///< X-Sample-Rate, or 0

  /// All of a good answer.
  bool ok() const { return status == 200 && failure.empty(); }
};

/// Options of all requests of a client.
struct HttpClientOptions {
  std::string api_key = {};  ///< sent as a bearer token unless empty
  double timeout_s = 600;    ///< of a request as a whole
  double connect_timeout_s = 5;
  size_t max_bytes = size_t{256} << 20;  ///< of an answer
};

/// A client that keeps one connection.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// `give_up` is asked several times a second; may be empty. URLs are http or https.
  HttpAnswer get(const std::string& url);
  HttpAnswer post_json(const std::string& url, const std::string& body,
                       const std::function<bool()>& give_up = {});

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

/// The key that this machine's user has for servers: the first line of the file, or SYRINX_API_KEY
/// or OPENAI_API_KEY where there is no file; may be empty. Throws LoadError for a file without one.
std::string read_client_key(const std::string& file);

/// "http://host:port" of what people write: a scheme is put before it, slashes and "/v1" behind it
/// go. Throws UsageError where there is no host.
std::string base_url(const std::string& text);

}  // namespace syrinx
