// HTTP GET requests by libcurl, with limits on time and size. For hub_pull only. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace syrinx {

/// Result of a transfer.
struct TransferResult {
  int64_t status = 0;   ///< HTTP status; 0 without an answer
  std::string trouble;  ///< libcurl's error; empty if the answer is complete
  double retry_after_s = 0;
  bool unreachable = false;      ///< the connection failed; `trouble` names the host
  bool cannot_continue = false;  ///< a range was requested, but the server sent no range
  bool ok() const { return trouble.empty() && (status == 200 || status == 206); }
  /// Returns whether a retry may succeed later.
  bool transient() const {
    return !trouble.empty() || status == 408 || status == 429 || status >= 500;
  }
};

/// One connection to the hub.
class Transfer {
 public:
  /// `token` may be empty.
  explicit Transfer(std::string token);
  ~Transfer();

  /// Passes the body to `take` piece by piece; `take` returns false to end the transfer. from > 0:
  /// requests only the bytes after the first `from`. If the server sends anything else, the
  /// transfer ends with cannot_continue.
  TransferResult get(const std::string& url, int64_t from,
                     const std::function<bool(std::string_view)>& take);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
