#include "server/chat/kept_answers.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(KeptAnswers, AreOfTheirClientAndModel) {
  KeptAnswers kept;
  kept.keep("a", 1, "glm", "Well.", {5, 6}, 100);
  kept.keep("b", 1, "finch", "No ids.", {}, 100);
  const auto mine = kept.find("a", 1, "glm", 101);
  ASSERT_TRUE(mine);
  EXPECT_EQ(mine->text, "Well.");
  EXPECT_EQ(*mine->made.ids, (std::vector<int32_t>{5, 6}));
  EXPECT_FALSE(mine->made.heard_s);
  const auto other = kept.find("a", 1, "step", 101);
  ASSERT_TRUE(other) << "another model reads it";
  EXPECT_EQ(other->made.ids, nullptr);
  EXPECT_EQ(kept.find("b", 1, "finch", 101)->made.ids, nullptr);
  EXPECT_FALSE(kept.find("a", 2, "glm", 101)) << "another client";
  EXPECT_FALSE(kept.find("c", 1, "glm", 101));
}

TEST(KeptAnswers, GoWhenTheyAreOldOrTooMany) {
  KeptAnswers kept(3000);
  kept.keep("old", 1, "m", "", {}, 0);
  EXPECT_TRUE(kept.find("old", 1, "m", KeptAnswers::kKept_s));
  EXPECT_FALSE(kept.find("old", 1, "m", KeptAnswers::kKept_s + 1));
  EXPECT_EQ(kept.bytes(), 0u);
  for (int i = 0; i < 100; ++i) {
    kept.keep(std::to_string(i), 1, "m", "", std::vector<int32_t>(100, i), 10);
    EXPECT_LE(kept.bytes(), 3000u);
  }
  EXPECT_FALSE(kept.find("90", 1, "m", 10));
  EXPECT_TRUE(kept.find("99", 1, "m", 10));
  kept.keep("large", 1, "m", std::string(5000, 'x'), {}, 10);
  EXPECT_EQ(kept.bytes(), 0u);
  EXPECT_FALSE(kept.find("large", 1, "m", 10));
}

}  // namespace
}  // namespace syrinx
