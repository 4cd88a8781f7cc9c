// How much one client may ask for: requests a minute and requests at a time. A client is a hash of
// its key or address. Memory is bounded. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "server/request/reply.h"

namespace syrinx {

/// What a client may have.
struct LimitOptions {
  double requests_per_min = 0;   ///< that many may also come at once; 0: no limit
  int concurrent = 0;            ///< requests of a client at a time; 0: no limit
  size_t max_clients = 100'000;  ///< remembered; past it newcomers share one account
};

/// A hash for `client` fields: of a key or an address. `salt` keeps strangers from choosing whose
/// account they share.
uint64_t hash_client(std::string_view name, uint64_t salt);

class ClientLimits {
 public:
  explicit ClientLimits(LimitOptions options) : options_(options) {}

  /// A client's place among those being served: given back when the last copy is gone, on the
  /// thread of ClientLimits, which must outlive it.
  using Place = std::shared_ptr<void>;
  struct Verdict {
    std::optional<ApiError> refusal;  ///< 429 with Retry-After
    Place place;                      ///< set when there is no refusal
    Headers headers;                  ///< x-ratelimit-*, when requests are limited
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
