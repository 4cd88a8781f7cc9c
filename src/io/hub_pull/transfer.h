// HTTP GETs by libcurl with a bound on everything. Inside hub_pull only. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace syrinx {

/// How a transfer ended.
struct TransferResult {
  int64_t status = 0;   ///< 0: no answer came
  std::string trouble;  ///< what libcurl says; empty: the answer came whole
  double retry_after_s = 0;
  bool unreachable = false;      ///< no connection came about; `trouble` names the host
  bool cannot_continue = false;  ///< a part was asked for and not what came
  bool ok() const { return trouble.empty() && (status == 200 || status == 206); }
  /// Whether the same may go well later.
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

  /// Gives the body to `take` piece by piece; false ends the transfer. from > 0: only what follows
  /// that byte; a server that sends something else is cut off (cannot_continue).
  TransferResult get(const std::string& url, int64_t from,
                     const std::function<bool(std::string_view)>& take);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
