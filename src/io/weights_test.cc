#include "io/weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "base/float16.h"
#include "base/memory.h"
#include "io/safetensors.h"
#include "io/taken_bytes.h"
#include "io/test_dir.h"
#include "tensor/finite.h"

namespace syrinx {
namespace {

class WeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    Tensor head({3, 2}, DType::kBF16), norm({2}, DType::kF32), count({1}, DType::kI64);
    for (int i = 0; i < 6; ++i) head.view().bf16()[i] = f32_to_bf16(static_cast<float>(i));
    SafetensorsWriter writer(dir_.path("model.safetensors"));
    writer.add("talker.head.weight", head);
    writer.add("talker.layers.0.norm.weight", norm);
    writer.add("talker.count", count);
    writer.add("speaker.w", norm);
    writer.finish();
  }
  Weights open() { return Weights(open_weights(dir_.path())); }
  TestDir dir_;
};

TEST_F(WeightsTest, BytesThatAreTakenAreReportedOnce) {
  const Weights weights = open();
  std::vector<int64_t> outer, inner;
  {
    const TakenBytes around([&](int64_t bytes) { outer.push_back(bytes); });
    weights.take("talker.head.weight", {3, 2});
    {
      const TakenBytes within([&](int64_t bytes) { inner.push_back(bytes); });
      weights.f32("speaker.w", {2});
    }
    weights.take("talker.head.weight", {3, 2});  // takes a tied table again
    weights.take("talker.layers.0.norm.weight", {2});
    weights.take("missing", {2});
  }
  weights.take("talker.count", {1});
  EXPECT_EQ(outer, (std::vector<int64_t>{12, 8}));
  EXPECT_EQ(inner, (std::vector<int64_t>{8}));
}

TEST_F(WeightsTest, TakesByScope) {
  const Weights talker = open().scope("talker");  // scopes keep the source alive
  EXPECT_TRUE(talker.has("head.weight"));
  EXPECT_EQ(talker.shape("head.weight"), (Shape{3, 2}));
  const View head = talker.take("head.weight", {3, 2});
  EXPECT_EQ(head.dtype, DType::kBF16);
  const Tensor wide = talker.f32("head.weight", {3, 2});
  EXPECT_EQ(wide.f32()[5], 5.f);
  talker.scope("layers", 0).scope("norm").f32("weight", {2});
  talker.ignore("count");
  EXPECT_NO_THROW(talker.finish());
}

TEST_F(WeightsTest, ListsAllFaultsAtOnce) {
  const Weights root = open(), talker = root.scope("talker");
  const Tensor zeros = talker.f32("head.weight", {3, 4});
  EXPECT_EQ(zeros.f32()[11], 0.f);
  EXPECT_EQ(talker.take("gone", {1000, 1000}).bf16()[999999], 0);
  talker.f32("count", {1});
  try {
    root.finish();
    FAIL();
  } catch (const LoadError& error) {
    const std::string text = error.what();
    const std::string file = dir_.path("model.safetensors");
    EXPECT_TRUE(text.starts_with(file + ": missing tensors (1):\n  talker.gone\n")) << text;
    EXPECT_NE(text.find(file + ": tensor talker.head.weight: expected [3, 4], got bf16 [3, 2]"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("tensor talker.count: expected f32, bf16 or f16 [1], got i64 [1]"),
              std::string::npos)
        << text;
  }
  EXPECT_NO_THROW(root.scope("speaker").finish({"w"}));
}

std::string fault_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST_F(WeightsTest, WhatIsLeftOverIsAFault) {
  const Weights root = open(), talker = root.scope("talker");
  talker.take("head.weight", {3, 2});
  const std::string text = fault_of([&] { root.finish(); });
  EXPECT_NE(text.find("its config leaves out (3):\n  speaker.w\n  talker.count\n"
                      "  talker.layers.0.norm.weight"),
            std::string::npos)
      << text;
  // Extras apply to one call; ignored tensors apply to all outer scopes.
  talker.scope("layers", 0).ignore("norm.*");
  EXPECT_EQ(root.report({"speaker.*", "*.count"}).unused, std::vector<std::string>{});
  EXPECT_EQ(talker.report().unused, std::vector<std::string>{"talker.count"});
  root.ignore("*.count");
  EXPECT_EQ(talker.report().unused, std::vector<std::string>{"talker.count"});
  EXPECT_EQ(root.report().unused, std::vector<std::string>{"speaker.w"});
  EXPECT_EQ(root.scope("speaker").report({"w*"}).unused, std::vector<std::string>{});
}

TEST_F(WeightsTest, PartsAreCountedByAnyOfTheirTensors) {
  const Tensor one({1}, DType::kF32);
  SafetensorsWriter writer(dir_.path("parts.safetensors"));
  for (const char* name : {"a.layers.0.w", "a.layers.11.bias", "a.layers.x.w", "a.layers.99999.w",
                           "a.layers.12", "a.layers.-3.w", "layers.40.w"})
    writer.add(name, one);
  writer.finish();
  const Weights root(open_weights(dir_.path("parts.safetensors")));
  EXPECT_EQ(root.scope("a").count("layers"), 12);
  EXPECT_EQ(root.count("layers"), 41);
  EXPECT_EQ(root.count("a"), 0);
}

TEST_F(WeightsTest, SizesThatNoTensorHasAreNotBelieved) {
  const Weights root = open(), talker = root.scope("talker");
  const std::string text = fault_of([&] {
    talker.take("small", {4});
    talker.take("head.weight", {int64_t{1} << 32, int64_t{1} << 20});
  });
  EXPECT_NE(text.find("talker.small"), std::string::npos) << text;
  EXPECT_NE(text.find("expected [4294967296, 1048576], got bf16 [3, 2]"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("speaker.w"), std::string::npos) << "it was not asked for yet: " << text;
}

TEST_F(WeightsTest, BuildNamesWhatIsNotANumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  Tensor good({2, 2}, DType::kF32), bad({40, 2}, DType::kBF16), half({3}, DType::kF16);
  bad.view().bf16()[79] = f32_to_bf16(-infinity);
  half.view().f16()[1] = 0x7e01;
  SafetensorsWriter writer(dir_.path("nan.safetensors"));
  writer.add("good", good), writer.add("bad", bad), writer.add("half", half);
  writer.finish();
  const Weights root(open_weights(dir_.path("nan.safetensors")));
  const std::string text = fault_of([&] {
    root.build([&] {
      root.take("good", {2, 2});
      root.f32("half", {3});
      const View view = root.take("bad", {40, 2});
      if (!all_finite(view, 0, view.count())) throw NotFinite();
    });
  });
  EXPECT_NE(text.find("tensor bad: has NaN or infinity"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor half: has NaN or infinity"), std::string::npos) << text;
  EXPECT_EQ(text.find("good"), std::string::npos) << text;
}

/// Numbers taken as f32 are checked immediately, so that later code need not check them.
TEST_F(WeightsTest, NumbersTakenAsFloatsAreLookedAt) {
  Tensor bad({2, 2}, DType::kF32);
  bad.f32()[3] = std::numeric_limits<float>::quiet_NaN();
  SafetensorsWriter writer(dir_.path("nan.safetensors"));
  writer.add("bad", bad);
  writer.finish();
  const Weights root(open_weights(dir_.path("nan.safetensors")));
  const std::string text = fault_of([&] { root.build([&] { root.f32("bad", {2, 2}); }); });
  EXPECT_NE(text.find("tensor bad: has NaN or infinity"), std::string::npos) << text;
}

TEST_F(WeightsTest, BuildReportsTheFaultsBehindAFailure) {
  const auto load = [this](const std::function<void()>& after) {
    const Weights root = open();
    return fault_of([&] {
      root.build([&] {
        root.take("speaker.w", {7});
        after();
      });
    });
  };
  const std::string want = "tensor speaker.w: expected [7], got f32 [2]";
  EXPECT_NE(load([] {}).find(want), std::string::npos);
  EXPECT_NE(load([] { SYRINX_CHECK(false, "a layer's check"); }).find(want), std::string::npos);
  EXPECT_NE(load([] { throw std::bad_alloc(); }).find(want), std::string::npos);
  const Weights root = open();
  EXPECT_THROW(root.build([] { SYRINX_CHECK(false); }), InternalError) << "a bug stays a bug";
  const std::string memory = fault_of([&] {
    root.build([&] {
      root.take("speaker.w", {2});
      expect_memory(int64_t{1} << 60);
    });
  });
  EXPECT_NE(memory.find("tensor speaker.w: 1152921504.6 GB of memory are needed, "), memory.npos)
      << memory;
}

TEST_F(WeightsTest, LongListsAreCut) {
  const Weights root = open();
  for (int i = 0; i < 100; ++i) root.take(concat("x", i), {1});
  const std::string text = root.report({"*"}).faults();
  EXPECT_NE(text.find("missing tensors (100)"), std::string::npos);
  EXPECT_NE(text.find("and 90 more"), std::string::npos);
}

TEST_F(WeightsTest, UnreadableTypeIsCollected) {
  const std::string header = R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  const uint64_t size = header.size();
  const auto path =
      dir_.write("d.safetensors", std::string(reinterpret_cast<const char*>(&size), 8) + header +
                                      std::string(8, '\0'));
  const Weights root(open_weights(path));
  root.take("w", {1});
  EXPECT_NE(root.report().faults().find("got F64 [1]"), std::string::npos);
}

TEST(DummyWeights, HaveTheRightScaleAndCostLittle) {
  const Weights root(dummy_weights([](const std::string& name) { return name == "lm_head"; }));
  EXPECT_TRUE(root.has("lm_head"));
  EXPECT_FALSE(root.has("bias"));
  const View w = root.take("w", {3000, 1024});
  double square = 0, sum = 0;
  for (int64_t i = 0; i < w.count(); ++i) {
    const double x = bf16_to_f32(w.bf16()[i]);
    sum += x, square += x * x;
  }
  const auto count = static_cast<double>(w.count());
  EXPECT_NEAR(std::sqrt(square / count), 1.0 / 32, 1e-3);
  EXPECT_NEAR(sum / count, 0, 1e-3);
  EXPECT_EQ(root.f32("norm.weight", {7}).f32()[6], 1.f);
  EXPECT_EQ(root.f32("q_proj.bias", {7}).f32()[6], 0.f);
  for (int i = 0; i < 50; ++i) root.take("big", {100'000, 2048});  // takes 20 GB of address space
  EXPECT_NO_THROW(root.finish());
}

/// Returns the bytes of memory that count as this process's.
int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t whole = 0, resident = 0;
  in >> whole >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Takes the tensors of a model's layers one after another, and a table that remains in use.
TEST(DummyWeights, AreLetGoWhenTheyWereRead) {
  constexpr int64_t kRows = 8192, kWidth = 1024, kBytes = 2 * kRows * kWidth;
  const Weights root(dummy_weights());
  int64_t most = 0;
  double sum = 0;
  const auto read = [&](const View& w) {
    for (int64_t i = 0; i < w.count(); i += 1024) sum += bf16_to_f32(w.bf16()[i]);
    most = std::max(most, resident_bytes());
  };
  View table;
  read(root.take("warm", {kRows, kWidth}));
  table = root.take("table", {kRows, kWidth});
  const int64_t before = resident_bytes();
  for (int layer = 0; layer < 20; ++layer) {
    const View q = root.take("q", {kRows, kWidth}), k = root.take("k", {kRows, kWidth});
    read(q), read(k);
  }
  EXPECT_NE(sum, 0);
  EXPECT_GT(most, before + kBytes / 2) << "the test looked at something else";
  EXPECT_LT(most, before + 4 * kBytes);
  EXPECT_EQ(table.bf16()[7], root.take("table", {kRows, kWidth}).bf16()[7]);
  EXPECT_NE(table.bf16()[7], 0);
}

TEST(DummyWeights, MustFitTheMemory) {
  const Weights root(dummy_weights());
  const std::string text = fault_of([&] {
    root.build([&] { root.take("w", {int64_t{1} << 40, 1024}); });
  });
  EXPECT_NE(text.find("dummy weights: tensor w: 1125899.9 GB of memory are needed, "), text.npos)
      << text;
}

TEST(FloatTypes, Convert) {
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(1.5f)), 1.5f);
  EXPECT_EQ(f32_to_bf16(1.00390625f), 0x3f80);  // halfway between two values: rounds to even
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
  EXPECT_TRUE(std::isinf(bf16_to_f32(f32_to_bf16(INFINITY))));
  EXPECT_EQ(f16_to_f32(0x3c00), 1.f);
  EXPECT_EQ(f16_to_f32(0xc000), -2.f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.f);
  EXPECT_TRUE(std::isinf(f16_to_f32(0x7c00)));
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7e00)));
}

}  // namespace
}  // namespace syrinx
