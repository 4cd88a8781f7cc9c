// Limits of one client: requests a minute and simultaneous requests. A client is a hash of its key
// or address. Memory is bounded. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "server/request/reply.h"

namespace syrinx {

/// The limits of each client.
struct LimitOptions {
  double requests_per_min = 0;  ///< also the largest burst; 0 means no limit
  int concurrent = 0;           ///< most simultaneous requests of a client; 0 means no limit
  /// Most clients with an account of their own. All further clients share one account.
  size_t max_clients = 100'000;
};

/// Returns a hash of a key or an address, for `client` fields. The secret `salt` prevents clients
/// from choosing another client's account.
uint64_t hash_client(std::string_view name, uint64_t salt);

class ClientLimits {
 public:
  explicit ClientLimits(LimitOptions options) : options_(options) {}

  /// A client's permit for one running request. Destroying the last copy returns the permit; do
  /// this on the thread of ClientLimits, which must outlive the permit.
  using Permit = std::shared_ptr<void>;
  struct Verdict {
    std::optional<ApiError> refusal;  ///< status 429 with Retry-After, if refused
    Permit permit;                    ///< empty if refused
    Headers headers;                  ///< x-ratelimit-* headers, if requests are limited
  };
  Verdict admit(uint64_t client, double now_s);

 private:
  struct Account {
    double tokens = 0;
    double filled_s = 0;
    int running = 0;
  };
  Account& account(uint64_t client, double now_s);
  void refill(Account& account, double now_s) const;
  void forget_idle(double now_s);

  const LimitOptions options_;
  std::unordered_map<uint64_t, Account> accounts_;
};

}  // namespace syrinx
