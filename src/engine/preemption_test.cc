// Tests whose pages are taken for the oldest sequence of a node, and which sequences then wait for
// it. Tests with the whole scheduler: scheduler_test.cc, background_test.cc, schedules_test.cc.
#include "engine/preemption.h"

#include <gtest/gtest.h>

#include "engine/testing/scripted_asks.h"

namespace syrinx {
namespace {

/// Requests of one model, and one request of another model, in the order of arrival.
struct Rivals {
  Rivals() { slots.add(model), slots.add(other); }

  ArRun& add(RequestId id, ResidentModel& its) {
    const auto client = std::make_shared<ScriptedClient>(clock, 1);
    requests.push_back(open_active(its, ask_bytes(4), client, 0).take());
    requests.back()->id = id;
    requests.back()->begin_segments();
    return run_of(requests.size() - 1);
  }
  ArRun& run_of(size_t slot) { return *requests[slot]->runs[0].ar; }
  /// Adds the view of the last request.
  void want(Urgency urgency, int pages) {
    SequenceView view{.slot = static_cast<int>(requests.size()) - 1};
    view.node = requests.back()->model->first_node;
    view.pages_wanted = pages;
    wanted[urgency].sequences.push_back(view);
  }
  PageRivals all() { return {slots.nodes(), requests, wanted}; }

  VirtualPlatform clock{SlotsSpec{}, {}};
  ExecutorSlots slots{{{{1, true}}, true, false}};
  ResidentModel model{make_toy_pipeline(), patient()}, other{make_toy_pipeline(), patient()};
  Roster::Requests requests;
  std::array<Views, 2> wanted;
};

struct OldestCase {
  const char* what;
  uint64_t kept_for;      ///< ResidentNode::kept_for
  int64_t more;           ///< rows that the oldest sequence has run since others lost their pages
  Urgency urgency;        ///< of the oldest sequence
  bool wants;             ///< whether the oldest sequence could run
  std::vector<int> runs;  ///< slots of the sequences that may run
  bool still;             ///< whether others still wait afterwards
};

/// Slot 0 is the oldest request. 1 wants pages, 2 wants none, 3 wants pages and is in the
/// background, 4 is of another model.
TEST(Preemption, ASequenceWaitsForTheRequestThatGotItsPages) {
  constexpr RequestId kOldest = 3;
  const OldestCase cases[] = {
      {"no pages were taken", 0, 0, kLive, true, {0, 1, 2, 3, 4}, false},
      {"it has not run since", kOldest, 0, kLive, true, {0, 2, 4}, true},
      {"it has run", kOldest, 1, kLive, true, {0, 1, 2, 3, 4}, false},
      {"it lost its own pages since", kOldest, -1, kLive, true, {0, 1, 2, 3, 4}, false},
      {"it cannot run", kOldest, 0, kLive, false, {1, 2, 3, 4}, false},
      {"it has gone", kOldest + 9, 0, kLive, true, {0, 1, 2, 3, 4}, false},
      {"live requests do not wait for the background",
       kOldest,
       0,
       kBackground,
       true,
       {0, 1, 2, 4},
       true},
  };
  for (const OldestCase& each : cases) {
    Rivals rivals;
    for (int slot = 0; slot < 5; ++slot) {
      rivals.add(kOldest + static_cast<RequestId>(slot), slot == 4 ? rivals.other : rivals.model);
      const Urgency urgency = slot == 0 ? each.urgency : slot == 3 ? kBackground : kLive;
      if (slot > 0 || each.wants) rivals.want(urgency, slot == 2 ? 0 : 1);
    }
    ArRun& oldest = rivals.run_of(0);
    oldest.total_steps = 40;
    ResidentNode& node = rivals.model.nodes[0];
    node.kept_for = each.kept_for, node.kept_at = oldest.ran() - each.more;
    let_oldest_first(rivals.all());
    std::vector<int> runs;
    for (const Views& views : rivals.wanted)
      for (const SequenceView& view : views.sequences) runs.push_back(view.slot);
    std::ranges::sort(runs);
    EXPECT_EQ(runs, each.runs) << each.what;
    EXPECT_EQ(node.kept_for, each.still ? each.kept_for : 0) << each.what;
  }
}

/// The oldest sequence that wants pages is the youngest that holds some. An older one, whose edge
/// is full, wants none.
TEST(Preemption, ASequenceNeverLosesItsPagesForItself) {
  Rivals rivals;
  const ResidentNode& node = rivals.model.nodes[0];
  for (const RequestId id : {5, 6}) {
    ArRun& run = rivals.add(id, rivals.model);
    node.pages->reserve(run, run.due(), 0);
    ASSERT_TRUE(run.holds());
  }
  rivals.want(kLive, 1);
  EXPECT_TRUE(make_room(rivals.all(), rivals.slots, rivals.slots.slots()[0]));
  EXPECT_FALSE(rivals.run_of(0).holds());
  EXPECT_TRUE(rivals.run_of(1).holds());
  EXPECT_EQ(node.kept_for, 6u);
  EXPECT_FALSE(make_room(rivals.all(), rivals.slots, rivals.slots.slots()[0])) << "no pages left";
}

}  // namespace
}  // namespace syrinx
