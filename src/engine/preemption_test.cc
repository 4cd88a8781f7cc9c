// A table of cases: which sequences wait for the request that got their pages.
#include "engine/preemption.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

struct PageCase {
  const char* what;
  PageLoss loss;
  Urgency urgency;
  Contender other;
  bool waits;
};

TEST(Preemption, ASequenceWaitsForTheRequestThatGotItsPages) {
  constexpr uint64_t kOlder = 3, kSelf = 7;
  constexpr int kNode = 1;
  const Contender older{kOlder, kNode, kLive, 40}, behind{kOlder, kNode, kBackground, 40};
  const PageCase cases[] = {
      {"it lost nothing", {}, kLive, older, false},
      {"no request has the id 0", {0, 40}, kLive, {0, kNode, kLive, 40}, false},
      {"the older one has not run since", {kOlder, 40}, kLive, older, true},
      {"the older one has run", {kOlder, 39}, kLive, older, false},
      {"the older one was preempted since, too", {kOlder, 55}, kLive, older, false},
      {"another request got the pages", {kOlder + 1, 40}, kLive, older, false},
      {"the older one waits at another node", {kOlder, 40}, kLive, {kOlder, 0, kLive, 40}, false},
      {"live requests do not wait for the background", {kOlder, 40}, kLive, behind, false},
      {"the background waits for live requests", {kOlder, 40}, kBackground, older, true},
      {"the background waits for the background", {kOlder, 40}, kBackground, behind, true},
  };
  for (const PageCase& each : cases) {
    const Contender self{kSelf, kNode, each.urgency, 12};
    const Contender bystander{kSelf + 1, kNode, kLive, each.loss.ran};
    const Contender wanted[] = {bystander, self, each.other};
    EXPECT_EQ(gives_way(each.loss, self, wanted), each.waits) << each.what;
    EXPECT_FALSE(gives_way(each.loss, self, std::span(wanted).first(2)))
        << "the older one wants nothing: " << each.what;
  }
}

}  // namespace
}  // namespace syrinx
