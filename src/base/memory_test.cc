#include "base/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace syrinx {
namespace {

namespace fs = std::filesystem;

/// A folder of control groups, removed after the test.
class GroupMemory : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(mount_); }
  void TearDown() override { fs::remove_all(mount_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((mount_ / file).parent_path());
    std::ofstream(mount_ / file) << text;
  }
  std::optional<int64_t> room(const std::string& groups) {
    return group_memory(groups, mount_.string());
  }

  const fs::path mount_ = fs::path(testing::TempDir()) / "syrinx_groups";
};

TEST_F(GroupMemory, IsWhatTheTightestGroupAboveLeaves) {
  write("a/b/memory.max", "max\n");
  write("a/b/memory.stat", "file 7\nanon 5\n");
  write("a/memory.max", "1000\n");
  write("a/memory.stat", "file 900\nanon 400\n");
  EXPECT_EQ(room("0::/a/b\n"), 600);
  EXPECT_EQ(room("0::/\n"), std::nullopt);
  write("a/b/memory.max", "100\n");
  EXPECT_EQ(room("0::/a/b\n"), 95);
  write("a/memory.stat", "anon 1001\n");
  EXPECT_EQ(room("0::/a/b\n"), 0);
}

TEST_F(GroupMemory, AContainerSeesItsOwnGroupAsTheFolder) {
  write("memory.max", "5000\n");
  write("memory.stat", "anon 1000\n");
  EXPECT_EQ(room("0::/system.slice/unseen.scope\n"), 4000);
  EXPECT_EQ(room("0::/\n"), 4000);
}

TEST_F(GroupMemory, ReadsVersionOne) {
  const std::string groups = "8:pids:/\n4:cpu,memory:/a\n0::/\n";
  EXPECT_EQ(room(groups), std::nullopt);
  write("memory/a/memory.stat", "hierarchical_memory_limit 9223372036854771712\ntotal_rss 10\n");
  EXPECT_EQ(room(groups), std::nullopt);
  write("memory/a/memory.stat", "rss 1\nhierarchical_memory_limit 3000\ntotal_rss 1000\n");
  EXPECT_EQ(room(groups), 2000);
  EXPECT_EQ(room("8:pids:/a\nnonsense\n\n"), std::nullopt);
}

TEST(Memory, OnlyWhatIsNotThereIsRefused) {
  expect_memory(1 << 20);
  if (!available_memory()) GTEST_SKIP() << "this machine reports no memory";
  EXPECT_THROW(expect_memory(int64_t{1} << 60), OutOfMemory);
}

}  // namespace
}  // namespace syrinx
