#include "engine/policy.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/check.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

SequenceView decode(int slot, double slack_s) {
  return {.slot = slot, .begun = true, .started = true, .slack_s = slack_s};
}
SequenceView prompt(int slot, int rows, double waited_s = 0) {
  return {.slot = slot, .rows_due = rows, .pages_wanted = (rows + 31) / 32, .slack_s = -waited_s};
}
SequenceView with_pages(SequenceView view, int pages) {
  view.pages_wanted = pages;
  return view;
}
SequenceView begun(SequenceView view) {
  view.begun = true;
  return view;
}
SequenceView pair(SequenceView view, int companion_due) {
  view.companion_due = companion_due;
  return view;
}
ChunkView chunk(int slot, double slack_s, bool full = false, int link = 0) {
  return {.slot = slot,
          .node = 1 + link,
          .frames = 4,
          .full = full,
          .started = true,
          .slack_s = slack_s};
}
ChunkView first_chunk(int slot, double waited_s = 0) {
  return {.slot = slot, .node = 1, .slack_s = -waited_s};
}

std::string str(const Plan& plan) {
  std::string text = plan.kind == Plan::kAr ? "ar" : plan.kind == Plan::kChunks ? "chunks" : "idle";
  for (const auto& seq : plan.sequences) {
    text += concat(" ", seq.slot, "x", seq.rows);
    if (seq.companion_rows > 0) text += concat("+", seq.companion_rows);
  }
  for (int slot : plan.chunk_slots) text += concat(" ", slot);
  return text;
}

/// Returns nodes on which a batch of 4 rows takes 14 ms and a batch of 4 chunks 7 ms. Streams with
/// a slack below about 55 ms are urgent.
std::vector<NodeView> nodes(int pages_free = 9) {
  return {{.ar = true, .cost = {0.010, 0.001}, .prefill_rows = 50, .pages_free = pages_free},
          {.cost = {0.002, 0.0003}},
          {.cost = {0.002, 0.0001}}};
}

struct Case {
  const char* name;
  std::vector<SequenceView> sequences;
  std::vector<ChunkView> chunks;
  const char* plan;
  int pages_free = 9;
  bool may_step = true, may_chunk = true, ahead = false;
  int steps_in_flight = 0;
};

void expect_plans(Policy policy, std::span<const Case> cases) {
  for (const Case& c : cases) {
    Snapshot snapshot{.max_batch = 4};
    snapshot.nodes = nodes(c.pages_free);
    snapshot.nodes[0].here = c.may_step, snapshot.nodes[0].steps_in_flight = c.steps_in_flight;
    snapshot.nodes[1].here = snapshot.nodes[2].here = c.may_chunk;
    snapshot.ahead = c.ahead;
    snapshot.sequences = c.sequences;
    snapshot.chunks = c.chunks;
    Plan plan;
    policy(snapshot, plan);
    EXPECT_EQ(str(plan), c.plan) << c.name;
  }
}

TEST(StreamingPolicy, EachNodeSetsItsOwnPagesAside) {
  Snapshot snapshot{.max_batch = 4};
  snapshot.nodes = nodes(2);
  snapshot.nodes.push_back(snapshot.nodes[0]);
  snapshot.nodes[3].here = false;
  SequenceView other = begun(with_pages(prompt(1, 40), 2));
  other.node = 3;
  snapshot.sequences = {prompt(0, 40), other};
  Plan plan;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 0x40");
}

TEST(StreamingPolicy, EachNodeHasItsOwnLimitOfPromptRows) {
  Snapshot snapshot{.max_batch = 4};
  snapshot.nodes = nodes();
  snapshot.nodes.push_back(snapshot.nodes[0]);
  snapshot.nodes[3].prefill_rows = 90;
  SequenceView other = prompt(0, 100);
  for (const auto& [node, plan_of_node] : {std::pair{0, "ar 0x50"}, {3, "ar 0x90"}}) {
    other.node = node;
    snapshot.sequences = {other};
    Plan plan;
    plan_streaming(snapshot, plan);
    EXPECT_EQ(str(plan), plan_of_node);
  }
}

TEST(StreamingPolicy, Table) {
  const Case cases[] = {
      {"nothing", {}, {}, "idle"},
      {"nobody urgent: largest batch, who runs dry first leads",
       {decode(0, 3), decode(1, 1)},
       {},
       "ar 1x1 0x1"},
      {"startup before the relaxed", {decode(0, 3), prompt(1, 5)}, {}, "ar 1x5 0x1"},
      {"about to run dry before startup", {prompt(0, 40), decode(1, 0.01)}, {}, "ar 1x1 0x40"},
      {"startup in order of arrival", {prompt(1, 20), prompt(0, 20)}, {}, "ar 0x20 1x20"},
      {"who waited too long is urgent too, after those about to run dry",
       {decode(0, 0.01), prompt(1, 5), prompt(2, 5, 1.0)},
       {},
       "ar 0x1 2x5 1x5"},
      {"and before the relaxed and those who came just now",
       {decode(0, 3), prompt(1, 5), prompt(2, 5, 1.0)},
       {},
       "ar 2x5 1x5 0x1"},
      {"prompts share the rows", {prompt(0, 20), prompt(1, 40)}, {}, "ar 0x20 1x30"},
      {"first chunk at once", {decode(0, 3)}, {first_chunk(1)}, "chunks 1"},
      {"first chunk before first step", {prompt(0, 5)}, {first_chunk(1)}, "chunks 1"},
      {"but not before one that runs dry", {decode(0, 0.01)}, {first_chunk(1)}, "ar 0x1"},
      {"relaxed chunk waits for company",
       {decode(0, 3), decode(2, 3)},
       {chunk(1, 3)},
       "ar 0x1 2x1"},
      {"urgent chunk takes the relaxed along",
       {decode(0, 3)},
       {chunk(1, 3), chunk(2, 0.01)},
       "chunks 2 1"},
      {"one link at a time", {}, {chunk(1, 3), chunk(2, 0.01, false, 1)}, "chunks 2"},
      {"full chunks run when they are many",
       {decode(0, 3)},
       {chunk(1, 3, true), chunk(2, 3, true)},
       "chunks 1 2"},
      {"relaxed chunk when there is nothing else", {}, {chunk(1, 3)}, "chunks 1"},
      {"no pages for the prompt", {decode(0, 3), prompt(1, 40)}, {}, "ar 0x1", 1},
      {"a decode's page is set aside",
       {with_pages(decode(0, 3), 1), prompt(1, 40)},
       {},
       "ar 0x1",
       2},
      {"and a prompt takes the rest",
       {with_pages(decode(0, 3), 1), prompt(1, 40)},
       {},
       "ar 1x40 0x1",
       3},
      {"what a prompt under way wants is set aside too, or two would take turns for ever",
       {with_pages(prompt(0, 20), 2), begun(with_pages(prompt(1, 5), 2))},
       {},
       "ar 1x5",
       3},
      {"stuck without pages", {with_pages(decode(0, 3), 1)}, {}, "idle", 0},
      {"a pair fills two entries",
       {pair(decode(0, 1), 1), pair(decode(1, 2), 1), decode(2, 3)},
       {},
       "ar 0x1+1 1x1+1"},
      {"a pair is never split",
       {decode(0, 1), decode(1, 1), decode(2, 1), pair(decode(3, 2), 1), decode(4, 3)},
       {},
       "ar 0x1 1x1 2x1 4x1"},
      {"a pair's prompts end together", {pair(prompt(0, 30), 30)}, {}, "ar 0x29+21"},
      {"a chunk executor takes chunks as they come",
       {decode(0, 3)},
       {chunk(1, 3)},
       "chunks 1",
       9,
       false},
      {"a step executor takes no chunks",
       {decode(0, 3)},
       {chunk(1, 0.01)},
       "ar 0x1",
       9,
       true,
       false},
      {"ahead of time only what is urgent or full",
       {decode(0, 3)},
       {chunk(1, 3)},
       "idle",
       9,
       true,
       true,
       true},
      {"ahead of time an urgent chunk", {}, {chunk(1, 0.01)}, "chunks 1", 9, true, true, true},
      {"while steps run elsewhere, chunks wait for company",
       {},
       {chunk(1, 3)},
       "idle",
       9,
       true,
       true,
       false,
       3},
  };
  expect_plans(plan_streaming, cases);
}

TEST(StreamingPolicy, RelaxedRowsFillAnUrgentBatchOnlyALittle) {
  Snapshot snapshot{.max_batch = 32};
  snapshot.nodes = {{.ar = true, .cost = {0.005, 0.0009}, .pages_free = 99},
                    {.cost = {0.001, 0.0001}}};
  snapshot.sequences = {decode(0, 0.001)};
  for (int slot = 1; slot < 20; ++slot) snapshot.sequences.push_back(decode(slot, 5));
  Plan plan;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.sequences.size(), 2u) << "a fifth of 5.9 ms is worth one more row of 0.9 ms";
  snapshot.nodes[0].cost.unit_s = 0;  // a step takes the same time for any batch
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.sequences.size(), 20u);
}

/// A guess is added only if its expected saving exceeds the cost of its row, and if no other
/// request needs its entry.
TEST(Policies, AddGuessesWhereTheyPay) {
  const auto drafting = [](int slot, double slack_s, double odds) {
    SequenceView view = decode(slot, slack_s);
    view.drafts = 3, view.draft_odds = odds;
    return view;
  };
  struct Guesses {
    const char* name;
    StageCost cost;
    std::vector<SequenceView> sequences;
    std::vector<int> expected;  // number of guesses of each planned sequence
  };
  // A batch of one row takes 11 ms. The fixed part of 10 ms is the same for any batch.
  const StageCost wide{0.010, 0.001}, narrow{0, 0.010}, steep{0.010, 0.004}, cliff{0.010, 0.006};
  const Guesses cases[] = {
      {"as many as there are", wide, {drafting(0, 3, 0.5)}, {3}},
      {"a step costs its row only: none", narrow, {drafting(0, 3, 0.9)}, {0}},
      {"0.3 * 14 ms are more than a row's 4, 0.09 * 14 are not", steep, {drafting(0, 3, 0.3)}, {1}},
      {"a batch of one may be longer", steep, {drafting(0, 3, 1)}, {3}},
      {"half as long again at most", cliff, {drafting(0, 3, 1), decode(1, 2)}, {1, 0}},
      {"others' entries come first",
       wide,
       {drafting(0, 3, 0.9), drafting(1, 2, 0.9), decode(2, 1)},
       {0, 1, 0}},
      {"a full batch has none",
       wide,
       {drafting(0, 3, 0.9), decode(1, 2), decode(2, 2), decode(3, 1)},
       {0, 0, 0, 0}},
  };
  for (const Guesses& c : cases) {
    for (const NamedPolicy& policy : policies()) {
      Snapshot snapshot{.max_batch = 4};
      snapshot.nodes = nodes();
      snapshot.nodes[0].cost = c.cost;
      snapshot.sequences = c.sequences;
      Plan plan;
      policy.plan(snapshot, plan);
      ASSERT_EQ(plan.sequences.size(), c.expected.size()) << c.name << ", " << policy.name;
      int guesses = 0, wanted = 0;
      for (size_t i = 0; i < c.expected.size(); ++i) {
        guesses += plan.sequences[i].drafts;
        wanted += c.expected[i];
      }
      EXPECT_EQ(guesses, wanted) << c.name << ", " << policy.name;
    }
  }
}

TEST(StreamingPolicy, ABatchOfChunksIsShortUnlessOneIsLong) {
  Snapshot snapshot{.max_batch = 32};
  snapshot.nodes = nodes();
  for (int slot = 0; slot < 8; ++slot) snapshot.chunks.push_back(chunk(slot, 0.01));
  Plan plan;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.chunk_slots.size(), 6u) << "2 ms and 6 x 4 frames of 0.3 ms are within 10 ms";
  for (ChunkView& view : snapshot.chunks) view.frames = 100;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.chunk_slots.size(), 1u);
  plan_throughput(snapshot, plan);
  EXPECT_EQ(plan.chunk_slots.size(), 8u);
}

/// Returns nodes of two models: 0 and 1 of a speech model, 2 of a text model with long steps.
std::vector<NodeView> two_models() {
  return {{.model = 0, .ar = true, .cost = {0.002, 0.0001}, .prefill_rows = 50, .pages_free = 9},
          {.model = 0, .cost = {0.001, 0.0001}},
          {.model = 1, .ar = true, .cost = {0.010, 0.010}, .prefill_rows = 50, .pages_free = 99}};
}

TEST(StreamingPolicy, OneNodeAtATimeAndDeadlinesDecideWhich) {
  Snapshot snapshot{.max_batch = 8};
  snapshot.nodes = two_models();
  SequenceView text = decode(1, 0.02);
  text.node = 2;
  snapshot.sequences = {decode(0, 3), text, decode(2, 4)};
  Plan plan;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.node, 2) << "the reader of the text runs dry first";
  EXPECT_EQ(str(plan), "ar 1x1");
  snapshot.sequences = {decode(0, 0.01), text, decode(2, 4)};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.node, 0);
  EXPECT_EQ(str(plan), "ar 0x1 2x1");
}

/// If a batch were built while another one runs, the executor would stay busy with the same model.
TEST(StreamingPolicy, AheadOfTimeNothingIsPlannedBeforeAnotherModelsUrgentStream) {
  Snapshot snapshot{.max_batch = 8, .ahead = true};
  snapshot.nodes = two_models();
  snapshot.nodes[2].here = false, snapshot.nodes[2].next = true;
  const auto plan_beside = [&](SequenceView mine, SequenceView other) {
    other.node = 2;
    snapshot.sequences = {mine, other};
    Plan plan;
    plan_streaming(snapshot, plan);
    return str(plan);
  };
  EXPECT_EQ(plan_beside(prompt(0, 5), decode(1, 0.01)), "idle");
  EXPECT_EQ(plan_beside(prompt(0, 5), decode(1, 3)), "ar 0x5") << "it is in no hurry";
  EXPECT_EQ(plan_beside(decode(0, 0.01), decode(1, 0.02)), "ar 0x1");
  EXPECT_EQ(plan_beside(decode(0, 0.02), decode(1, 0.01)), "idle");
  EXPECT_EQ(plan_beside(prompt(0, 5), prompt(1, 5)), "ar 0x5") << "it came later";
  snapshot.max_batch = 1;
  EXPECT_EQ(plan_beside(decode(0, 3), decode(1, 2)), "ar 0x1") << "a full batch, and nobody urgent";
  snapshot.max_batch = 8;
  snapshot.nodes[2].next = false;
  EXPECT_EQ(plan_beside(prompt(0, 5), decode(1, 0.01)), "ar 0x5") << "another executor's";
}

TEST(StreamingPolicy, ReadersComeBehindListenersUntilTheyAreVeryLate) {
  Snapshot snapshot{.max_batch = 8};
  snapshot.nodes = two_models();
  const auto node_for = [&](double reader_slack_s, SequenceView other) {
    SequenceView text = decode(1, reader_slack_s);
    text.node = 2, text.reads = true;
    snapshot.sequences = {text, other};
    Plan plan;
    plan_streaming(snapshot, plan);
    return plan.node;
  };
  EXPECT_EQ(node_for(0.02, decode(0, 3)), 2) << "nobody else is in a hurry";
  EXPECT_EQ(node_for(-0.2, prompt(3, 1)), 0) << "a newcomer waits for a voice";
  EXPECT_EQ(node_for(-0.3, prompt(3, 1)), 2) << "the next word is later than patience lasts";
  EXPECT_EQ(node_for(-0.3, decode(0, -0.1)), 0) << "a listener hears a gap";
  EXPECT_EQ(node_for(-0.5, decode(0, -0.1)), 2) << "and yet readers read";
}

TEST(StreamingPolicy, OfOneRequestTheNodeNearestToItsClientGoesFirst) {
  // A thinker and a talker can both take a step. The talker's step comes first: it leads to audio.
  Snapshot snapshot;
  snapshot.nodes = {{.ar = true, .cost = {0.010, 0.001}, .pages_free = 9},
                    {.ar = true, .cost = {0.010, 0.001}, .pages_free = 9},
                    {.cost = {0.002, 0.0003}}};
  const auto at = [](SequenceView view, int node) {
    view.node = node;
    return view;
  };
  Plan plan;
  snapshot.sequences = {at(prompt(0, 1), 0), at(prompt(0, 1), 1)};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.node, 1) << "nothing was heard yet";
  snapshot.sequences = {at(decode(0, 0.01), 0), at(decode(0, 0.01), 1)};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.node, 1) << "the listener is about to run dry";
  snapshot.sequences = {at(prompt(0, 1), 0), at(prompt(1, 1), 1)};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.node, 0) << "another request was there earlier";
}

TEST(StreamingPolicy, APromptIsCutSoThatAnotherModelsListenerHearsNoGap) {
  Snapshot snapshot{.max_batch = 8};
  snapshot.nodes = two_models();
  SequenceView text = prompt(1, 50);
  text.node = 2;
  snapshot.sequences = {text};
  Plan plan;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 1x50") << "no other stream has work";
  snapshot.sequences = {decode(0, 0.14), text};
  plan_streaming(snapshot, plan);
  // 140 ms of audio minus the margin of 30 ms leave time for the fixed 10 ms and ten rows.
  EXPECT_EQ(str(plan), "ar 1x10");
  snapshot.ahead = true, snapshot.busy_s = 0.05;
  snapshot.sequences = {decode(0, 0.19), text};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 1x10") << "another 50 ms pass before it begins";
  snapshot.ahead = false, snapshot.busy_s = 0;
  snapshot.sequences = {text};
  snapshot.chunks = {chunk(0, 0.14)};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 1x10") << "frames that wait for a chunk node count as well";
}

TEST(StreamingPolicy, APatientModelRunsAtLeastFiveMilliseconds) {
  Snapshot snapshot{.max_batch = 8};
  snapshot.nodes = two_models();
  snapshot.nodes[2].cost = {0, 0.001};
  SequenceView text = prompt(1, 50, 1.0);
  text.node = 2;
  snapshot.sequences = {text};
  snapshot.chunks = {chunk(0, 0.06)};
  snapshot.chunks[0].node = 1;
  SequenceView waiting = prompt(0, 5, 0.4);  // without audio so far, it cannot have a gap
  snapshot.sequences.push_back(waiting);
  Plan plan;
  snapshot.nodes[0].here = snapshot.nodes[1].here = false;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 1x30") << "60 ms of audio less the margin of 30";
  snapshot.chunks[0].slack_s = -1;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 1x5") << "beside a stream that is already late, a batch gets 5 ms";
  // A step of a pair needs both of its rows.
  snapshot.nodes[2].cost = {0.010, 0.010};
  SequenceView both = pair(decode(1, 0.01), 1);
  both.node = 2;
  snapshot.sequences = {both};
  plan_streaming(snapshot, plan);
  EXPECT_EQ(str(plan), "ar 1x1+1");
}

TEST(StreamingPolicy, RelaxedChunksMakeShortBatchesToo) {
  Snapshot snapshot{.max_batch = 32};
  snapshot.nodes = nodes();
  for (int slot = 0; slot < 8; ++slot) snapshot.chunks.push_back(chunk(slot, 3));
  Plan plan;
  plan_streaming(snapshot, plan);
  EXPECT_EQ(plan.chunk_slots.size(), 6u);
}

TEST(StreamingPolicy, AnotherModelsLongStepMakesUrgentSooner) {
  const std::vector<NodeView> both = two_models();
  const std::vector<NodeView> one(both.begin(), both.begin() + 2);
  EXPECT_NEAR(urgent_slack_s(both, 0, 8) - urgent_slack_s(one, 0, 8), 0.020, 1e-9);
}

TEST(ThroughputPolicy, Table) {
  const Case cases[] = {
      {"nothing", {}, {}, "idle"},
      {"in order of arrival, deadlines do not count",
       {decode(0, 9), decode(1, 0)},
       {},
       "ar 0x1 1x1"},
      {"pages that were set aside and taken bind nobody else",
       {with_pages(decode(0, 1), 1), with_pages(decode(1, 2), 1), with_pages(prompt(2, 20), 1)},
       {},
       "ar 0x1 1x1 2x20",
       3},
      {"chunks wait while steps can be taken",
       {decode(0, 9), prompt(3, 2)},
       {chunk(1, 0)},
       "ar 0x1 3x2"},
      {"until a batch of them is full",
       {decode(0, 9)},
       {chunk(1, 0), chunk(2, 0), chunk(3, 0), chunk(4, 0), chunk(5, 0)},
       "chunks 1 2 3 4"},
      {"or nothing else is left", {}, {chunk(1, 0)}, "chunks 1"},
      {"the fullest link",
       {},
       {chunk(1, 0), chunk(2, 0, false, 1), chunk(3, 0, false, 1)},
       "chunks 2 3"},
  };
  expect_plans(plan_throughput, cases);
}

TEST(FcfsPolicy, Table) {
  const Case cases[] = {
      {"nothing", {}, {}, "idle"},
      {"in order of arrival",
       {decode(0, 9), decode(1, 9), decode(2, 9), decode(3, 9), prompt(4, 3)},
       {},
       "ar 0x1 1x1 2x1 3x1"},
      {"chunks as soon as they can be cut",
       {decode(0, 0)},
       {chunk(1, 9), chunk(2, 9)},
       "chunks 1 2"},
  };
  expect_plans(plan_fcfs, cases);
}

TEST(Policies, AreFoundByName) {
  EXPECT_EQ(find_policy("fcfs"), plan_fcfs);
  EXPECT_EQ(find_policy("nonsense"), nullptr);
  EXPECT_EQ(policies().size(), 3u);
}

/// Runs requests under a policy without an engine. Each request has a prompt, steps and chunks.
struct Play {
  struct Request {
    int prompt = 0, companion = 0;  // rows that are still due
    int pages = 0;
    int steps = 0;
    int waiting = 0;  // frames that wait for the chunk stage
    int done_chunks = 0;
    bool guided = false;
  };
  std::vector<Request> requests;

  Snapshot look(int max_batch, int prefill, int pages_free, double slack_s) const {
    Snapshot s{.max_batch = max_batch};
    s.nodes = nodes(pages_free);
    s.nodes[0].prefill_rows = prefill;
    for (int i = 0; i < static_cast<int>(requests.size()); ++i) {
      const Request& r = requests[i];
      const double slack = slack_s * ((i * 7) % 5);
      if (r.waiting > 0) {
        s.chunks.push_back({i, 1, r.waiting, r.waiting >= 8, r.done_chunks > 0, slack});
      }
      if (r.steps == 0) continue;
      SequenceView view{.slot = i};
      view.begun = r.prompt == 0 && r.companion == 0;
      view.rows_due = view.begun ? 1 : std::max(1, r.prompt);
      view.companion_due = r.guided ? std::max(1, r.companion) : 0;
      view.pages_wanted = r.pages;
      view.started = r.done_chunks > 0;
      view.slack_s = slack;
      s.sequences.push_back(view);
    }
    return s;
  }
};

TEST(Policies, KeepTheLimitsAndServeEveryRequest) {
  for (const NamedPolicy& policy : policies()) {
    for (uint32_t round = 0; round < 300; ++round) {
      auto random = [&, i = 0u](int below) mutable {
        return static_cast<int>(philox_uniform(round, i++, 0) * static_cast<float>(below));
      };
      const int max_batch = 2 + random(6), prefill = 2 + random(60);
      const double slack_s = random(3) * 0.1;
      Play play;
      const int count = 1 + random(12);
      for (int i = 0; i < count; ++i) {
        const bool guided = random(3) == 0;
        play.requests.push_back(
            {1 + random(90), guided ? 1 + random(90) : 0, random(2), 1 + random(20), 0, 0, guided});
      }
      int turns = 0;
      for (;; ++turns) {
        ASSERT_LT(turns, 4000) << policy.name << " starves somebody, round " << round;
        const Snapshot before =
            play.look(max_batch, prefill, random(2) ? 40 : 1 + random(3), slack_s);
        if (before.sequences.empty() && before.chunks.empty()) break;
        Snapshot snapshot = before;
        Plan plan;
        policy.plan(snapshot, plan);
        ASSERT_NE(plan.kind, Plan::kIdle) << policy.name;
        std::set<int> seen;
        if (plan.kind == Plan::kChunks) {
          ASSERT_LE(static_cast<int>(plan.chunk_slots.size()), max_batch);
          for (int slot : plan.chunk_slots) {
            ASSERT_TRUE(seen.insert(slot).second);
            ASSERT_GT(play.requests[slot].waiting, 0) << "planned without a chunk";
            play.requests[slot].waiting = 0;
            ++play.requests[slot].done_chunks;
          }
          continue;
        }
        int entries = 0, prompts = 0, pages = 0;
        for (const PlannedSequence& seq : plan.sequences) {
          ASSERT_TRUE(seen.insert(seq.slot).second);
          Play::Request& r = play.requests[seq.slot];
          ASSERT_GT(r.steps, 0) << "planned though it has ended";
          const bool decoding = r.prompt == 0 && r.companion == 0;
          const int due = decoding ? 1 : std::max(1, r.prompt);
          const int companion_due = r.guided ? std::max(1, r.companion) : 0;
          ASSERT_LE(seq.rows, due);
          ASSERT_LE(seq.companion_rows, companion_due);
          ASSERT_GE(seq.rows + seq.companion_rows, 1);
          if (r.guided) {
            ASSERT_EQ(seq.rows == due, seq.companion_rows == companion_due) << "a pair was split";
          }
          entries += r.guided ? 2 : 1;
          pages += r.pages;
          if (!decoding) prompts += seq.rows + seq.companion_rows;
          const bool whole = seq.rows == due;
          r.prompt = std::max(0, r.prompt - seq.rows);
          r.companion = std::max(0, r.companion - seq.companion_rows);
          if (whole) {
            --r.steps;
            ++r.waiting;
          }
        }
        ASSERT_LE(entries, max_batch);
        ASSERT_LE(prompts, prefill);
        ASSERT_LE(pages, before.nodes[0].pages_free);
      }
    }
  }
}

}  // namespace
}  // namespace syrinx
