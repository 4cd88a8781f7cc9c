#include "engine/policy.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

SequenceView decode(int slot, double slack) {
  return {slot, static_cast<uint64_t>(slot), 1, 1, 20, true, slack};
}
SequenceView prompt(int slot, int rows) {
  return {slot, static_cast<uint64_t>(slot), rows, 0, 0, false, 0};
}

std::string str(const Plan& plan) {
  std::string text = plan.kind == Plan::kAr ? "ar" : plan.kind == Plan::kChunks ? "chunks" : "idle";
  for (const auto& seq : plan.sequences) text += concat(" ", seq.slot, "x", seq.rows);
  for (int slot : plan.chunk_slots) text += concat(" ", slot);
  return text;
}

TEST(StreamingPolicy, Table) {
  struct Case {
    const char* name;
    std::vector<SequenceView> sequences;
    std::vector<ChunkView> chunks;
    int pages_free;
    const char* plan;
  };
  const Case cases[] = {
      {"nothing", {}, {}, 9, "idle"},
      {"whoever runs dry first", {decode(0, 3), decode(1, 1)}, {}, 9, "ar 1x1 0x1"},
      {"startup before running", {decode(0, 0.1), prompt(1, 5)}, {}, 9, "ar 1x5 0x1"},
      {"prompts share the rows", {prompt(0, 20), prompt(1, 40)}, {}, 9, "ar 0x20 1x30"},
      {"first chunk at once", {decode(0, 3)}, {{1, 0, 1, false, false, 0}}, 9, "chunks 1"},
      {"relaxed chunk waits", {decode(0, 3)}, {{1, 0, 1, false, true, 3}}, 9, "ar 0x1"},
      {"full chunk runs", {decode(0, 3)}, {{1, 0, 1, true, true, 3}}, 9, "chunks 1"},
      {"relaxed chunk when idle", {}, {{1, 0, 1, false, true, 3}}, 9, "chunks 1"},
      {"urgent chunk takes the relaxed along",
       {decode(0, 3)},
       {{1, 0, 1, false, true, 3}, {2, 0, 2, false, true, 0.1}},
       9,
       "chunks 2 1"},
      {"one link at a time",
       {},
       {{1, 0, 1, false, true, 3}, {2, 1, 2, false, true, 0.1}},
       9,
       "chunks 2"},
      {"no pages for the prompt", {decode(0, 3), prompt(1, 40)}, {}, 1, "ar 0x1"},
      {"a decode's page is set aside", {{0, 0, 1, 1, 32, true, 3}, prompt(1, 40)}, {}, 2, "ar 0x1"},
      {"and a prompt takes the rest",
       {{0, 0, 1, 1, 32, true, 3}, prompt(1, 40)},
       {},
       3,
       "ar 1x40 0x1"},
      {"stuck without pages", {{0, 0, 1, 1, 32, true, 3}}, {}, 0, "idle"},
  };
  for (const Case& c : cases) {
    Snapshot snapshot{.max_batch = 4, .max_prefill_rows = 50, .page_rows = 32};
    snapshot.pages_free = c.pages_free;
    snapshot.sequences = c.sequences;
    snapshot.chunks = c.chunks;
    Plan plan;
    plan_streaming(snapshot, plan);
    EXPECT_EQ(str(plan), c.plan) << c.name;
  }
}

TEST(StreamingPolicy, RandomPlansKeepTheLimits) {
  for (uint32_t round = 0; round < 2000; ++round) {
    auto random = [&, i = 0u](int below) mutable {
      return static_cast<int>(philox_uniform(round, i++, 0) * static_cast<float>(below));
    };
    Snapshot snapshot{
        .max_batch = 1 + random(6), .max_prefill_rows = 1 + random(60), .page_rows = 16};
    snapshot.pages_free = random(8);
    const int count = random(10);
    for (int slot = 0; slot < count; ++slot) {
      const bool fresh = random(2) == 0;
      const int len = fresh ? 0 : 1 + random(100);
      snapshot.sequences.push_back({slot, static_cast<uint64_t>(slot), fresh ? 1 + random(90) : 1,
                                    (len + 15) / 16, len, random(2) == 0, random(4) * 1.0});
    }
    const std::vector<SequenceView> before = snapshot.sequences;
    Plan plan;
    plan_streaming(snapshot, plan);
    EXPECT_LE(static_cast<int>(plan.sequences.size()), snapshot.max_batch);
    int prefill = 0, pages = 0;
    for (const auto& seq : plan.sequences) {
      const SequenceView& view = before[seq.slot];
      EXPECT_GE(seq.rows, 1);
      EXPECT_LE(seq.rows, view.rows_due);
      if (view.kv_len == 0) prefill += seq.rows;
      pages += std::max(0, (view.kv_len + view.rows_due + 15) / 16 - view.pages_held);
    }
    EXPECT_LE(prefill, snapshot.max_prefill_rows);
    EXPECT_LE(pages, snapshot.pages_free);
  }
}

}  // namespace
}  // namespace syrinx
