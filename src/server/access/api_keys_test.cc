#include "server/access/api_keys.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"

namespace syrinx {
namespace {

TEST(ApiKeys, Admission) {
  EXPECT_TRUE(ApiKeys().admits(""));
  EXPECT_TRUE(ApiKeys({""}).empty());
  const ApiKeys keys({"alpha", "beta"});
  EXPECT_TRUE(keys.admits("Bearer alpha"));
  EXPECT_TRUE(keys.admits("bearer   beta "));
  for (const char* wrong : {"", "Bearer", "Bearer ", "alpha", "Basic alpha", "Bearer alph",
                            "Bearer alphaa", "Bearer alphaalpha", "Bearer  ", "Bearer ALPHA"}) {
    EXPECT_FALSE(keys.admits(wrong)) << wrong;
  }
}

/// After a reload of a changed list, a key must not be another client.
TEST(ApiKeys, AKeyIsTheSameInAnyList) {
  const ApiKeys before({"alpha", "beta"}), after({"beta", "gamma"});
  EXPECT_EQ(before.find("Bearer beta"), after.find("Bearer beta"));
  EXPECT_NE(before.find("Bearer alpha"), after.find("Bearer beta"));
  EXPECT_NE(before.find("Bearer beta"), after.find("Bearer gamma"));
}

TEST(ApiKeys, File) {
  const std::string path = testing::TempDir() + "syrinx_keys";
  std::ofstream(path) << "# ours\n\n  one \r\ntwo\n";
  const ApiKeys keys = ApiKeys::from_file(path);
  EXPECT_TRUE(keys.admits("Bearer one"));
  EXPECT_TRUE(keys.admits("Bearer two"));
  EXPECT_FALSE(keys.admits("Bearer # ours"));
  std::ofstream(path) << "\xEF\xBB\xBFone\r\ntwo\r\n";
  EXPECT_TRUE(ApiKeys::from_file(path).admits("Bearer one"));
  EXPECT_TRUE(ApiKeys::from_file(path).admits("Bearer two"));
  std::ofstream(path) << "# nothing\n";
  EXPECT_THROW(ApiKeys::from_file(path), LoadError);
  std::remove(path.c_str());
  EXPECT_THROW(ApiKeys::from_file(path), LoadError);
}

}  // namespace
}  // namespace syrinx
