#include "server/access/client_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace syrinx {
namespace {

TEST(ClientLimits, RequestsAMinute) {
  ClientLimits limits({.requests_per_min = 6, .concurrent = 0});
  double now_s = 1000;
  for (int i = 5; i >= 0; --i) {
    const auto verdict = limits.admit(1, now_s);
    EXPECT_FALSE(verdict.refusal);
    EXPECT_EQ(verdict.headers[0].second, "6");
    EXPECT_EQ(verdict.headers[1].second, std::to_string(i));
  }
  const auto refused = limits.admit(1, now_s);
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->status, 429);
  EXPECT_EQ(refused.refusal->code, "rate_limit_exceeded");
  EXPECT_EQ(refused.refusal->retry_after_s, 10);
  EXPECT_EQ(refused.headers[2].second, "60s");
  EXPECT_FALSE(limits.admit(2, now_s).refusal);  // client 1 does not affect other clients
  EXPECT_TRUE(limits.admit(1, now_s + 9.9).refusal);
  EXPECT_FALSE(limits.admit(1, now_s + 10.1).refusal);
  EXPECT_TRUE(limits.admit(1, now_s + 10.2).refusal);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(limits.admit(1, now_s + 3600).refusal);
  EXPECT_TRUE(limits.admit(1, now_s + 3600).refusal);  // an idle hour saves a minute's requests
}

TEST(ClientLimits, RequestsAtATime) {
  ClientLimits limits({.requests_per_min = 0, .concurrent = 2});
  auto first = limits.admit(1, 0).permit;
  const auto second = limits.admit(1, 0);
  EXPECT_TRUE(second.headers.empty());
  EXPECT_TRUE(limits.admit(1, 0).refusal);
  EXPECT_FALSE(limits.admit(2, 0).refusal);
  first.reset();
  EXPECT_FALSE(limits.admit(1, 0).refusal);
}

TEST(ClientLimits, ManyStrangersTakeNoMemory) {
  ClientLimits limits({.requests_per_min = 60, .concurrent = 5, .max_clients = 3});
  std::vector<ClientLimits::Permit> held;
  for (uint64_t client = 1; client <= 3; ++client) held.push_back(limits.admit(client, 0).permit);
  for (uint64_t client = 10; client < 15; ++client) {
    held.push_back(limits.admit(client, 0).permit);
    EXPECT_TRUE(held.back()) << client;
  }
  EXPECT_TRUE(limits.admit(99, 0).refusal);  // clients beyond max_clients share one account
  held.clear();
  EXPECT_FALSE(limits.admit(99, 1).refusal);
  EXPECT_FALSE(limits.admit(1, 600).refusal);
}

TEST(ClientLimits, RunningClientsAreNotForgotten) {
  ClientLimits limits({.requests_per_min = 60, .concurrent = 1, .max_clients = 2});
  const auto running = limits.admit(1, 0).permit;
  limits.admit(2, 0);
  // After a minute both clients have their full rate, but only client 2 is idle and forgotten.
  EXPECT_FALSE(limits.admit(3, 60).refusal);
  EXPECT_TRUE(limits.admit(1, 60).refusal);
}

TEST(ClientLimits, Hashes) {
  EXPECT_NE(hash_client("a", 1), hash_client("b", 1));
  EXPECT_NE(hash_client("a", 1), hash_client("a", 2));
  EXPECT_EQ(hash_client("a", 1), hash_client("a", 1));
}

}  // namespace
}  // namespace syrinx
