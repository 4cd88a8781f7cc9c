#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/sample.h"

namespace syrinx {
namespace {

std::vector<uint64_t> keys(int count, uint64_t from = 1) {
  std::vector<uint64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(from + i);
  return out;
}

/// Reserves pages for `rows` rows and marks the rows as computed.
void fill(KvCache& cache, KvHold& hold, int rows) {
  std::vector<PageCopy> copies;
  ASSERT_TRUE(cache.reserve(hold, rows, copies));
  hold.rows = rows;
}

TEST(KvCache, ReservesAndReleases) {
  KvCache cache(4, 16);
  KvHold a, b;
  std::vector<PageCopy> copies;
  EXPECT_EQ(cache.wanted(a, 33), 3);
  EXPECT_TRUE(cache.reserve(a, 33, copies));
  EXPECT_EQ(cache.available(), 1);
  EXPECT_FALSE(cache.reserve(b, 17, copies));
  EXPECT_TRUE(b.pages.empty());
  cache.release(a);
  EXPECT_EQ(cache.available(), 4);
  EXPECT_TRUE(copies.empty());
}

TEST(KvCache, SharesWholePagesAndCopiesABegunOne) {
  KvCache cache(8, 16);
  KvHold first;
  fill(cache, first, 42);
  cache.publish(keys(42), first);
  EXPECT_EQ(cache.prefix_pages(), 3);

  // The sequence that published the rows continues in its own copy of the page.
  std::vector<PageCopy> copies;
  const int32_t begun = first.pages[2];
  ASSERT_TRUE(cache.reserve(first, 43, copies));
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].from, begun);
  EXPECT_EQ(copies[0].to, first.pages[2]);
  first.rows = 43;
  ASSERT_TRUE(cache.reserve(first, 44, copies));
  EXPECT_EQ(copies.size(), 1u) << "copied twice";

  KvHold second;
  EXPECT_EQ(cache.adopt(keys(42), 41, second), 41);
  EXPECT_EQ(second.pages, (std::vector<int32_t>{first.pages[0], first.pages[1], begun}));
  EXPECT_EQ(cache.wanted(second, 42), 1);

  KvHold other;
  std::vector<uint64_t> differs = keys(42);
  differs[30] = 999;
  EXPECT_EQ(cache.adopt(differs, 42, other), 30) << "one page and most of the second";
  KvHold stranger;
  EXPECT_EQ(cache.adopt(keys(42, 500), 42, stranger), 0);
  cache.release(first), cache.release(second), cache.release(other);
  EXPECT_EQ(cache.available(), 8) << "idle prefixes can be had";
  EXPECT_EQ(cache.prefix_pages(), 3);
}

/// After many other prefixes were published, a search no longer finds the first one.
TEST(KvCache, APageIsKnownUnderOnePrefixOnly) {
  KvCache cache(64, 16);
  KvHold first;
  fill(cache, first, 32);
  cache.publish(keys(16), first);
  for (uint64_t other = 1; other <= 40; ++other) {
    KvHold hold;
    fill(cache, hold, 16);
    cache.publish(keys(16, 1000 * other), hold);
    cache.release(hold);
  }
  cache.publish(keys(32), first);
  cache.release(first);
  EXPECT_EQ(cache.prefix_pages(), 41);
  EXPECT_EQ(cache.available(), 64);
  KvHold all;
  fill(cache, all, 64 * 16);
  EXPECT_EQ(cache.prefix_pages(), 0);
}

TEST(KvCache, ForgetsTheLongestUnusedPrefixFirst) {
  KvCache cache(6, 16);
  for (uint64_t who = 1; who <= 3; ++who) {
    KvHold hold;
    fill(cache, hold, 32);
    cache.publish(keys(32, 1000 * who), hold);
    cache.release(hold);
  }
  KvHold again;
  EXPECT_EQ(cache.adopt(keys(32, 1000), 32, again), 32);
  cache.release(again);
  KvHold large;
  fill(cache, large, 48);  // needs three pages: both of the second prefix, the last of the third
  KvHold probe;
  EXPECT_EQ(cache.adopt(keys(32, 2000), 32, probe), 0);
  EXPECT_EQ(cache.adopt(keys(32, 3000), 32, probe), 16);
  cache.release(probe);
  EXPECT_EQ(cache.adopt(keys(32, 1000), 32, probe), 32);
}

TEST(KvCache, ForksAndTruncates) {
  KvCache cache(6, 16);
  KvHold trunk, draft;
  fill(cache, trunk, 20);
  cache.fork(trunk, draft);
  EXPECT_EQ(cache.available(), 4);
  std::vector<PageCopy> copies;
  ASSERT_TRUE(cache.reserve(draft, 40, copies));
  EXPECT_EQ(copies.size(), 1u);
  draft.rows = 40;
  ASSERT_TRUE(cache.reserve(trunk, 21, copies));
  EXPECT_EQ(copies.size(), 1u) << "the trunk is alone on its page again";
  cache.truncate(draft, 16);
  EXPECT_EQ(draft.rows, 16);
  EXPECT_EQ(draft.pages.size(), 1u);
  EXPECT_EQ(draft.pages[0], trunk.pages[0]);
  cache.truncate(draft, 10);
  ASSERT_TRUE(cache.reserve(draft, 12, copies));
  EXPECT_EQ(copies.size(), 2u) << "rows behind 10 are the trunk's";
  cache.release(trunk), cache.release(draft);
  EXPECT_EQ(cache.available(), 6);
}

/// Performs random operations and keeps the key of each row in an array of pages. Checks that each
/// sequence finds its own keys in its pages.
TEST(KvCache, RandomUseNeverShowsForeignRows) {
  constexpr int kRows = 16, kPages = 24;
  for (uint32_t round = 0; round < 200; ++round) {
    auto random = [&, i = 0u](int below) mutable {
      return static_cast<int>(philox_uniform(round, i++, 0) * static_cast<float>(below));
    };
    KvCache cache(kPages, kRows);
    std::vector<std::vector<uint64_t>> memory(kPages, std::vector<uint64_t>(kRows, 0));
    struct Live {
      KvHold hold;
      std::vector<uint64_t> prompt, all;
    };
    std::vector<Live> live;
    uint64_t unique = 1 << 20;
    for (int turn = 0; turn < 300; ++turn) {
      if (live.size() < 5 && random(3) == 0) {
        Live fresh;
        const int shared = random(40);
        fresh.prompt = keys(shared, 1 + 100 * random(3));
        for (int i = random(30); i >= 0; --i) fresh.prompt.push_back(random(2) ? 7 : ++unique);
        fresh.all = fresh.prompt;
        cache.adopt(fresh.prompt, static_cast<int>(fresh.prompt.size()) - 1, fresh.hold);
        live.push_back(fresh);
      }
      if (live.empty()) continue;
      const int who = random(static_cast<int>(live.size()));
      Live& seq = live[who];
      if (random(12) == 0) {
        cache.release(seq.hold);
        live.erase(live.begin() + who);
        continue;
      }
      std::vector<PageCopy> copies;
      const int target = std::max<int>(seq.hold.rows + 1, static_cast<int>(seq.prompt.size()));
      if (!cache.reserve(seq.hold, target, copies)) {
        cache.release(seq.hold);
        live.erase(live.begin() + who);
        continue;
      }
      for (const PageCopy& copy : copies) memory[copy.to] = memory[copy.from];
      while (static_cast<int>(seq.all.size()) < target) seq.all.push_back(++unique);
      for (int row = seq.hold.rows; row < target; ++row) {
        memory[seq.hold.pages[row / kRows]][row % kRows] = seq.all[row];
      }
      const bool prompt_done = seq.hold.rows < static_cast<int>(seq.prompt.size());
      seq.hold.rows = target;
      if (prompt_done) cache.publish(seq.prompt, seq.hold);
      for (const Live& reader : live) {
        for (int row = 0; row < reader.hold.rows; ++row) {
          ASSERT_EQ(memory[reader.hold.pages[row / kRows]][row % kRows], reader.all[row])
              << "round " << round << " turn " << turn << " row " << row;
        }
      }
    }
    for (Live& seq : live) cache.release(seq.hold);
    EXPECT_EQ(cache.available(), kPages);
  }
}

/// A page of which only the first rows match ends the shared prefix, even if keys of its children
/// would match.
TEST(KvCache, APartOfAPageEndsWhatIsTaken) {
  KvCache cache(8, 16);
  KvHold first;
  fill(cache, first, 32);
  std::vector<uint64_t> known = keys(16);
  for (const uint64_t key : keys(16, 100)) known.push_back(key);
  cache.publish(known, first);
  EXPECT_EQ(cache.published(), 2u);
  std::vector<uint64_t> other = keys(10);
  for (const uint64_t key : keys(16, 100)) other.push_back(key);
  KvHold second;
  EXPECT_EQ(cache.adopt(other, 26, second), 10);
  cache.release(first), cache.release(second);
}

}  // namespace
}  // namespace syrinx
