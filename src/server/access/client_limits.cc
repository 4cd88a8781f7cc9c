#include "server/access/client_limits.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr uint64_t kShared = 0;  // the account shared by all clients beyond max_clients

ApiError too_many(std::string message, double retry_after_s) {
  return {.status = 429,
          .message = std::move(message),
          .code = "rate_limit_exceeded",
          .retry_after_s = std::max(1, static_cast<int>(std::ceil(retry_after_s)))};
}

std::string duration(double s) { return concat(std::ceil(s * 1000) / 1000, "s"); }

}  // namespace

uint64_t hash_client(std::string_view name, uint64_t salt) {
  uint64_t hash = salt ^ 1469598103934665603ull;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  // Applies the last step of splitmix64, so that similar addresses get very different hashes.
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ull;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBull;
  return std::max<uint64_t>(1, hash ^ (hash >> 31));
}

void ClientLimits::refill(Account& account, double now_s) const {
  const double earned = (now_s - account.filled_s) * options_.requests_per_min / 60;
  account.tokens = std::min(options_.requests_per_min, account.tokens + earned);
  account.filled_s = now_s;
}

void ClientLimits::forget_idle(double now_s) {
  for (auto at = accounts_.begin(); at != accounts_.end();) {
    refill(at->second, now_s);
    const bool idle = at->second.running == 0 && at->second.tokens >= options_.requests_per_min;
    at = idle ? accounts_.erase(at) : std::next(at);
  }
}

ClientLimits::Account& ClientLimits::account(uint64_t client, double now_s) {
  const auto at = accounts_.find(client);
  if (at != accounts_.end()) return at->second;
  if (accounts_.size() >= options_.max_clients) forget_idle(now_s);
  if (accounts_.size() >= options_.max_clients) client = kShared;
  return accounts_.try_emplace(client, Account{options_.requests_per_min, now_s, 0}).first->second;
}

ClientLimits::Verdict ClientLimits::admit(uint64_t client, double now_s) {
  Account& mine = account(client, now_s);
  const double rate = options_.requests_per_min;
  Verdict verdict;
  refill(mine, now_s);
  if (options_.concurrent > 0 && mine.running >= options_.concurrent) {
    verdict.refusal = too_many(concat("You have ", mine.running, " requests running; at most ",
                                      options_.concurrent, " may run at a time."),
                               1);
  } else if (rate > 0 && mine.tokens < 1) {
    verdict.refusal =
        too_many(concat("At most ", rate, " requests per minute are accepted from you."),
                 (1 - mine.tokens) * 60 / rate);
  } else {
    if (rate > 0) mine.tokens -= 1;
    ++mine.running;
    // An unordered_map keeps references valid, and `running` prevents the account's removal.
    Account* held = &mine;
    verdict.permit = Permit(held, [](void* account) { --static_cast<Account*>(account)->running; });
  }
  if (rate > 0) {
    verdict.headers = {
        {"x-ratelimit-limit-requests", concat(rate)},
        {"x-ratelimit-remaining-requests", concat(static_cast<int64_t>(mine.tokens))},
        {"x-ratelimit-reset-requests", duration((rate - mine.tokens) * 60 / rate)}};
  }
  return verdict;
}

}  // namespace syrinx
