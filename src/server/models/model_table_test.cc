#include "server/models/model_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <new>
#include <thread>

#include "base/clock.h"
#include "server/models/fake_backend_test.h"

namespace syrinx {
namespace {

class ModelTableTest : public testing::Test {
 protected:
  ModelSource source(const std::string& name, size_t bytes = 100) {
    return {name, [this, name, bytes]() -> std::shared_ptr<Backend> {
              if (broken_ == name) throw LoadError(name + ": broken");
              ++loads_[name];
              auto backend = std::make_shared<FakeBackend>();
              backend->mutable_info().model = name;
              backend->mutable_info().parts = {{"weights", "", bytes}};
              return backend;
            }};
  }
  bool loaded(const ModelTable& table, const std::string& name) {
    for (const auto& entry : table.list()) {
      if (entry.name == name) return entry.backend != nullptr;
    }
    return false;
  }
  std::map<std::string, int> loads_;
  std::string broken_;
};

TEST_F(ModelTableTest, LoadsWhatIsAskedFor) {
  ModelTable table({source("a"), source("b")}, {});
  EXPECT_TRUE(loaded(table, "a"));
  EXPECT_FALSE(loaded(table, "b"));
  EXPECT_EQ(table.find("b").value(), nullptr);
  const auto b = table.load("b").value();
  EXPECT_EQ(b->info().model, "b");
  EXPECT_EQ(table.load("b").value(), b);
  EXPECT_EQ(loads_["b"], 1);
}

TEST_F(ModelTableTest, Names) {
  ModelTable table({source("a"), source("Org/b")}, {});
  EXPECT_EQ(table.find("").value(), table.first());
  EXPECT_EQ(table.find("tts-1").value(), table.first());
  EXPECT_EQ(table.find("Any/a").value(), table.first());
  EXPECT_TRUE(table.find("b").ok());
  const auto unknown = table.find("c");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().param, "model");
  EXPECT_NE(unknown.error().message.find("a, Org/b"), std::string::npos);
  EXPECT_THROW(ModelTable({source("a"), source("a")}, {}), LoadError);
}

TEST_F(ModelTableTest, Aliases) {
  const ModelTable table({source("a"), source("Org/b")},
                         {.aliases = {{"fast", "a"}, {"tts-1-hd", "b"}, {"sonic-3", "b"}}});
  EXPECT_EQ(table.look_up("fast")->name, "a");
  EXPECT_EQ(table.look_up("tts-1-hd")->name, "Org/b") << "before vendors' names";
  EXPECT_EQ(table.look_up("sonic-3")->name, "Org/b");
  for (const char* vendor : {"", "tts-1", "eleven_turbo_v2_5", "sonic-2", "aura-2-thalia-en"}) {
    EXPECT_EQ(table.look_up(vendor)->name, "a") << vendor;
  }
  EXPECT_FALSE(table.look_up("c"));
  EXPECT_FALSE(table.look_up("b")->backend) << "looking up loads nothing";
  EXPECT_THROW(ModelTable({source("a")}, {.aliases = {{"x", "nobody"}}}), LoadError);
}

TEST_F(ModelTableTest, ManyRequestsLoadOnce) {
  ModelTable table({source("a"), source("b")}, {});
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { good += table.load("b").ok(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(loads_["b"], 1);
}

TEST_F(ModelTableTest, LetsGoWhatIsNotUsed) {
  ModelTable table({source("a"), source("b")}, {.keep_s = 10});
  auto held = table.load("b").value();
  table.sweep(now_s() + 1000);
  EXPECT_TRUE(loaded(table, "b"));  // a request uses it
  held.reset();
  table.sweep(now_s() + 1005);
  EXPECT_TRUE(loaded(table, "b"));  // the last use is recent
  table.sweep(now_s() + 1020);
  EXPECT_FALSE(loaded(table, "b"));
  EXPECT_TRUE(loaded(table, "a"));  // the first model stays loaded
  EXPECT_TRUE(table.load("b").value());
}

TEST_F(ModelTableTest, LetsGoTheFirstWhereThatIsAskedFor) {
  ModelTable table({source("a")}, {.keep_first_s = 10});
  table.sweep(now_s() + 5);
  EXPECT_TRUE(loaded(table, "a"));
  {
    const auto used = table.find("").value();
    table.sweep(now_s() + 100);
    EXPECT_TRUE(loaded(table, "a")) << "a stream holds it";
  }
  table.sweep(now_s() + 200);
  EXPECT_FALSE(loaded(table, "a"));
  EXPECT_EQ(table.first(), nullptr);
  EXPECT_EQ(table.load("").value()->info().model, "a");
  EXPECT_EQ(loads_["a"], 2);
  EXPECT_NE(table.first(), nullptr);
}

TEST_F(ModelTableTest, KeepsWithinItsMemory) {
  ModelTable table({source("a"), source("b"), source("c")}, {.memory_bytes = 250});
  auto held = table.load("b").value();
  table.load("c").value();
  EXPECT_TRUE(loaded(table, "b"));  // the model is in use: memory may exceed the limit for a while
  held.reset();
  table.sweep(now_s());
  EXPECT_FALSE(loaded(table, "b"));
  EXPECT_TRUE(loaded(table, "c"));
  table.load("b").value();
  EXPECT_FALSE(loaded(table, "c"));
}

TEST_F(ModelTableTest, FailuresAreNotTriedAtOnceAgain) {
  broken_ = "b";
  ModelTable table({source("a"), source("b")}, {});
  EXPECT_EQ(table.look_up("b")->trouble, "");
  const Error failed = table.load("b").error();
  EXPECT_EQ(failed.code, ErrorCode::kOverloaded);
  EXPECT_TRUE(std::isinf(failed.retry_after_s)) << "waiting does not help";
  EXPECT_EQ(failed.message, "The model cannot be loaded: b: broken.");
  EXPECT_EQ(table.look_up("b")->trouble, failed.message);
  broken_ = "";
  EXPECT_EQ(table.load("b").error().message, failed.message);
  EXPECT_EQ(table.not_loaded("b").message, failed.message);
  broken_ = "a";
  EXPECT_THROW(ModelTable({source("a")}, {}), LoadError);
}

TEST_F(ModelTableTest, KnowsFromTheStartWhatCannotBeLoaded) {
  ModelSource b = source("b");
  b.trouble = "there is no such folder";
  const std::string why = "The model cannot be loaded: there is no such folder.";
  ModelTable table({source("a"), b}, {});
  EXPECT_EQ(table.look_up("b")->trouble, why);
  EXPECT_EQ(table.not_loaded("b").message, why);
  EXPECT_EQ(table.list()[0].trouble, "");
  EXPECT_TRUE(table.load("b").ok()) << "the folder may be there by now";
  EXPECT_EQ(table.look_up("b")->trouble, "");
}

TEST_F(ModelTableTest, ShortMemoryPasses) {
  ModelTable table(
      {source("a"), {"b", []() -> std::shared_ptr<Backend> { throw std::bad_alloc(); }}}, {});
  EXPECT_EQ(table.load("b").error().message,
            "The model cannot be loaded: too little memory is free.");
  EXPECT_EQ(table.load("b").error().retry_after_s, 10);
  EXPECT_EQ(table.look_up("b")->trouble, "");
}

TEST_F(ModelTableTest, ReloadLeavesStreamsAlone) {
  ModelTable table({source("a"), source("b")}, {});
  const auto before = table.first();
  table.reload();
  EXPECT_NE(table.first(), before);
  EXPECT_EQ(before->info().model, "a");
  EXPECT_EQ(loads_["b"], 0);
  const auto good = table.first();
  broken_ = "a";
  table.reload();
  EXPECT_EQ(table.first(), good);
}

}  // namespace
}  // namespace syrinx
