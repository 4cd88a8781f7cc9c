#include "link/placement.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/fuzzing.h"
#include "io/test_dir.h"
#include "model/toy/duet.h"

namespace syrinx {
namespace {

constexpr const char* kThree =
    "# three processes\n"
    "thinker: here\n"
    "talker: [/run/a.sock, grpc://b:7001]\n"
    "voice: /run/a.sock\n";

std::string placement_fault(const std::string& text) {
  TestDir dir;
  dir.write("fleet.yaml", text);
  try {
    check_placement(read_placement(dir.path("fleet.yaml")), make_duet_pipeline()->graph());
  } catch (const LoadError& e) {
    return std::string(e.what()).substr(dir.path().size() + 1);
  }
  return "none";
}

TEST(Placement, ReportsWhereEachNodeRuns) {
  TestDir dir;
  dir.write("fleet.yaml", kThree);
  const PlacementFile file = read_placement(dir.path("fleet.yaml"));
  EXPECT_EQ(file.here, std::vector<std::string>{"thinker"});
  std::string told;
  for (const Placement& p : file.elsewhere) told += p.node + "=" + p.address + " ";
  EXPECT_EQ(told, "talker=/run/a.sock talker=grpc://b:7001 voice=/run/a.sock ");
  EXPECT_EQ(remote_slots(file.elsewhere), 2);
  check_placement(file, make_duet_pipeline()->graph());
}

TEST(Placement, ThatMissesANodeIsRefused) {
  EXPECT_EQ(placement_fault("thinker: here\nvoice: here\n"),
            "fleet.yaml: lacks the node 'talker'; give it an address, or 'here'");
  EXPECT_EQ(placement_fault(std::string(kThree) + "flow: here\n"),
            "fleet.yaml: the model has no node 'flow'");
  EXPECT_EQ(placement_fault(std::string(kThree) + "talker: here\n"),
            "fleet.yaml: talker: is given twice");
  EXPECT_EQ(placement_fault("talker: [here, /run/a.sock]\n"),
            "fleet.yaml: talker: must have 'here' or addresses, not both");
  EXPECT_EQ(placement_fault("talker:\n"), "fleet.yaml: talker: expected words, got nothing");
  EXPECT_EQ(
      placement_fault("talker:\n  - /run/a.sock\n  - /run/b.sock\nthinker: here\nvoice: here\n"),
      "none");
  EXPECT_EQ(placement_fault(kThree), "none");
}

TEST(Placement, AnyFileIsAFaultOrAPlacement) {
  TestDir dir;
  for_each_damage(kThree, 500, [&](const std::string& text) {
    dir.write("fleet.yaml", text);
    try {
      (void)read_placement(dir.path("fleet.yaml"));
    } catch (const LoadError&) {
    }
  });
}

}  // namespace
}  // namespace syrinx
