#include "base/cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/thread_pool.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

/// A directory like the system's directory, with invented nodes.
class Nodes : public testing::Test {
 protected:
  Nodes() : directory_(fs::temp_directory_path() / ("syrinx_nodes_" + std::to_string(getpid()))) {
    fs::create_directories(directory_);
  }
  ~Nodes() override { fs::remove_all(directory_); }

  void add(const std::string& name, const std::string& list) {
    fs::create_directories(directory_ / name);
    std::ofstream(directory_ / name / "cpulist") << list << "\n";
  }
  std::vector<CoreNode> read() const { return core_nodes(directory_); }
  std::string fault() const {
    try {
      read();
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  }

  fs::path directory_;
};

TEST_F(Nodes, AreReadFromTheSystemsFiles) {
  add("node1", "4-7,12");
  add("node0", "0-3,8-9");
  add("node2", "");  // a node with memory but without cores
  add("nodes", "5");
  add("power", "6");
  const std::vector<CoreNode> nodes = read();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].id, 0);
  EXPECT_EQ(nodes[0].cores, (std::vector<int>{0, 1, 2, 3, 8, 9}));
  EXPECT_EQ(nodes[1].id, 1);
  EXPECT_EQ(nodes[1].cores, (std::vector<int>{4, 5, 6, 7, 12}));
  EXPECT_TRUE(core_nodes(directory_ / "absent").empty());
}

TEST_F(Nodes, ListsThatMakeNoSenseAreRefused) {
  for (const char* list : {"3-1", "a", "1-", "-1", "1,,2", "99999999999", "0-70000"}) {
    add("node0", list);
    EXPECT_NE(fault().find("is not a list of cores"), std::string::npos) << list;
  }
}

// Runs on separate threads, because restrictions of cores end with the thread.
TEST_F(Nodes, AThreadStaysOnOneAndSoDoThoseThatItStarts) {
  std::vector<int> usable;
  for (int core = 0; core < 1024 && std::ssize(usable) < 2; ++core) {
    std::thread([&] {
      try {
        stay_on(0, {{0, {core}}});
        usable.push_back(core);
      } catch (const LoadError&) {
      }
    }).join();
  }
  ASSERT_FALSE(usable.empty());
  const int before = usable_cores();
  std::thread([&] {
    stay_on(7, {{3, {usable.back()}}, {7, {usable.front(), 1023}}});
    EXPECT_EQ(usable_cores(), 1);
    EXPECT_EQ(ThreadPool().size(), 1);
    std::thread([] { EXPECT_EQ(usable_cores(), 1); }).join();
    EXPECT_THROW(stay_on(0, {{0, {1023}}}), LoadError);
    EXPECT_EQ(usable_cores(), 1);
  }).join();
  EXPECT_EQ(usable_cores(), before);
}

TEST_F(Nodes, OneThatIsNotThereIsNamed) {
  try {
    stay_on(2, {{0, {0}}, {1, {1}}});
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_STREQ(error.what(), "this machine has no NUMA node 2; it has 0, 1");
  }
}

}  // namespace
}  // namespace syrinx
