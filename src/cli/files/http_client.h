// Sends requests to other servers, one after another, on one connection that is kept open. Reads
// whole, bounded answers. One thread per object; calls wait for the answer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace syrinx {

/// The answer to a request, or the reason why no answer arrived.
struct HttpAnswer {
  int status = 0;       ///< 0 without an answer; see `failure`
  std::string failure;  ///< why no answer arrived, or why it is incomplete or too large
  std::string body;
  double retry_after_s = 0;   ///< value of Retry-After in seconds, or 0
  std::string finish_reason;  ///< value of X-Finish-Reason
  int sample_rate_hz = 0;     ///< value of X-Sample-Rate, or 0

  /// Returns whether the answer is complete and good.
  bool ok() const { return status == 200 && failure.empty(); }
};

/// Options of all requests of a client.
struct HttpClientOptions {
  std::string api_key = {};  ///< sent as a bearer token unless empty
  double timeout_s = 600;    ///< longest time of a request in seconds
  double connect_timeout_s = 5;
  size_t max_bytes = size_t{256} << 20;  ///< most bytes of an answer
};

/// A client that keeps one connection.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Send a request to an http or https URL and wait for the answer. `give_up`, if set, is called
  /// several times a second; it ends the request by returning true.
  HttpAnswer get(const std::string& url);
  HttpAnswer post_json(const std::string& url, const std::string& body,
                       const std::function<bool()>& give_up = {});

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

/// Returns this user's key for servers: the first line of the file, or without a file
/// SYRINX_API_KEY or OPENAI_API_KEY; may be empty. Throws LoadError for a file without a key.
std::string read_client_key(const std::string& file);

/// Converts an address to "http://host:port": adds a missing scheme, removes slashes and "/v1" at
/// the end. Throws UsageError for an address without a host, or with another scheme than http(s).
std::string base_url(const std::string& text);

}  // namespace syrinx
