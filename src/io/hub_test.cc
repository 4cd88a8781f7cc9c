#include "io/hub.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/expect_fault.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::string hub_fault(const std::string& model, const std::string& cache) {
  try {
    resolve_model(model, cache);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Hub, FindsDirectoriesAndSnapshots) {
  const TestDir dir;
  dir.write("mine/config.json", "{}");
  EXPECT_EQ(resolve_model(dir.path("mine"), ""), dir.path("mine"));
  const std::string root = "models--Org--Name-1.7B/";
  dir.write(root + "snapshots/aaa/config.json", "{}");
  dir.write(root + "snapshots/bbb/config.json", "{}");
  dir.write(root + "refs/main", "bbb\n");
  dir.write(root + "refs/refs/pr/1", "aaa");
  EXPECT_EQ(resolve_model("Org/Name-1.7B", dir.path()), dir.path(root + "snapshots/bbb"));
  EXPECT_EQ(resolve_model("Org/Name-1.7B@aaa", dir.path()), dir.path(root + "snapshots/aaa"));
  EXPECT_EQ(resolve_model("Org/Name-1.7B@refs/pr/1", dir.path()), dir.path(root + "snapshots/aaa"));
  dir.write("models--Org--One/snapshots/ccc/config.json", "{}");
  EXPECT_EQ(resolve_model("Org/One", dir.path()), dir.path("models--Org--One/snapshots/ccc"));
}

TEST(Hub, SomeModelsAreIdentifiedByOtherFiles) {
  const TestDir dir;
  const std::vector<std::string> markers{"config.json", "other.yaml"};
  dir.write("mine/other.yaml", "");
  EXPECT_EQ(resolve_model(dir.path("mine"), "", markers), dir.path("mine"));
  dir.write("models--Org--One/snapshots/ccc/other.yaml", "");
  EXPECT_EQ(resolve_model("Org/One", dir.path(), markers),
            dir.path("models--Org--One/snapshots/ccc"));
  EXPECT_THROW(resolve_model(dir.path("mine"), ""), LoadError);
  try {
    resolve_model(dir.path(), "", markers);
    FAIL();
  } catch (const LoadError& error) {
    expect_fault(error.what(), "that contains config.json or other.yaml");
  }
}

TEST(Hub, SaysWhereItLookedAndWhatToDo) {
  const TestDir dir;
  expect_fault(hub_fault("Org/Name", dir.path()), dir.path("models--Org--Name/snapshots"));
  expect_fault(hub_fault("Org/Name", dir.path()), "syrinx hub pull Org/Name");
  expect_fault(hub_fault("Org/Name@v2", dir.path()), "models--Org--Name/snapshots/v2");
  expect_fault(hub_fault("Org/Name", ""), "set HF_HOME");
  expect_fault(hub_fault("nothing", dir.path()), "Org/Name@revision");
  expect_fault(hub_fault("../x", dir.path()), "no such directory");
  expect_fault(hub_fault("Org/Name@../../x", dir.path()), "no such directory");
  expect_fault(hub_fault("Org/Name@", dir.path()), "no such directory");
  expect_fault(hub_fault("a/b/c", dir.path()), "no such directory");
  expect_fault(hub_fault(dir.path(), dir.path()), "contains config.json");
  expect_fault(hub_fault(dir.write("f", ""), dir.path()), "got a file");
  dir.write("models--Org--Bad/refs/main", "../../..");
  expect_fault(hub_fault("Org/Bad", dir.path()), "name of a snapshot");
}

TEST(Hub, FindsPartsBesideTheModelOrInTheCache) {
  const TestDir dir;
  const std::string model = dir.path("model"), cache = dir.path("cache");
  const auto fault = [&](const std::string& where) {
    try {
      resolve_part(model, "Org/Codec", where);
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_fault(fault(cache), "needs Org/Codec");
  expect_fault(fault(cache), cache + "/models--Org--Codec");
  expect_fault(fault(""), "syrinx hub pull Org/Codec");
  dir.write("cache/models--Org--Codec/snapshots/ccc/config.json", "{}");
  EXPECT_EQ(resolve_part(model, "Org/Codec", cache), cache + "/models--Org--Codec/snapshots/ccc");
  dir.write("model/Codec/config.json", "{}");
  EXPECT_EQ(resolve_part(model, "Org/Codec", cache), model + "/Codec");
}

TEST(Hub, CacheFollowsTheEnvironment) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
    ::unsetenv(name);
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(hub_cache(), "/h/.cache/huggingface/hub");
  ::setenv("HF_HOME", "/f", 1);
  EXPECT_EQ(hub_cache(), "/f/hub");
  ::setenv("HF_HUB_CACHE", "/c", 1);
  EXPECT_EQ(hub_cache(), "/c");
}

}  // namespace
}  // namespace syrinx
