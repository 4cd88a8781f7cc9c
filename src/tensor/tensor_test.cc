#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tensor/context.h"
#include "tensor/device_health.h"

namespace syrinx {
namespace {

TEST(Tensor, ZeroedAlignedAndSliced) {
  Tensor t({3, 4}, DType::kF32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.view().data) % 64, 0u);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(t.f32()[i], 0.f);
    t.f32()[i] = static_cast<float>(i);
  }
  const View middle = t.view().slice(1, 2);
  EXPECT_EQ(middle.shape, (Shape{1, 4}));
  EXPECT_EQ(middle.f32()[0], 4.f);
  Tensor copy = t.clone();
  t.f32()[5] = 100;
  EXPECT_EQ(copy.f32()[5], 5.f);
}

TEST(Tensor, LargeOnesAreZeroWithoutBeingWritten) {
  const auto resident = [] {  // resident pages of this process
    std::ifstream in("/proc/self/statm");
    int64_t all = 0, there = 0;
    in >> all >> there;
    return there;
  };
  constexpr int64_t kBytes = 512 << 20;
  const int64_t before = resident();
  for (int round = 0; round < 3; ++round) {
    Tensor t({kBytes + 1}, DType::kU8);
    auto* data = static_cast<uint8_t*>(t.view().data);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % (2 << 20), 0u);
    EXPECT_LT(resident() - before, (kBytes >> 12) / 4) << "written to";
    for (int64_t at = 0; at <= kBytes; at += kBytes / 64) {
      EXPECT_EQ(data[at], 0);
      data[at] = 1;
    }
  }
  EXPECT_LT(resident() - before, (kBytes >> 12) / 4) << "not given back";
}

TEST(Tensor, WrongUseIsNamed) {
  Tensor t({3, 4}, DType::kF32);
  EXPECT_THROW(t.view().i32(), InternalError);
  EXPECT_THROW(t.view().slice(2, 4), InternalError);
  EXPECT_THROW(t.view().reshape({5}), InternalError);
  try {
    expect_shape("rms_norm", t, {4, 3});
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("[rms_norm] expected [4, 3], got [3, 4]"),
              std::string::npos);
  }
}

TEST(Arena, WarmsUpThenStaysPut) {
  Arena arena;
  for (int step = 0; step < 3; ++step) {
    arena.reset();
    for (int i = 0; i < 10; ++i) {
      View v = arena.take({300, 1000}, DType::kF32);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(v.data) % 64, 0u);
      v.f32()[v.count() - 1] = 1;
    }
  }
  const size_t warm = arena.capacity();
  arena.reset();
  void* first;
  {
    Arena::Mark mark(arena);
    first = arena.take({16}, DType::kF32).data;
  }
  EXPECT_EQ(arena.take({16}, DType::kF32).data, first);
  EXPECT_EQ(arena.capacity(), warm);
}

TEST(DeviceHealth, TheFirstReasonCountsAndIsPassedOnOnce) {
  forget_lost_device();
  EXPECT_EQ(lost_device(), "");
  std::vector<std::string> told;
  when_device_is_lost([&](const std::string& why) { told.push_back(why); });
  EXPECT_TRUE(told.empty());
  report_lost_device("an illegal address");
  report_lost_device("a launch failure");
  EXPECT_EQ(lost_device(), "an illegal address");
  EXPECT_EQ(told, std::vector<std::string>{"an illegal address"});
  when_device_is_lost([&](const std::string& why) { told.push_back("late: " + why); });
  EXPECT_EQ(told.back(), "late: an illegal address");
  forget_lost_device();
  EXPECT_EQ(lost_device(), "");
  report_lost_device("again");
  EXPECT_EQ(told.size(), 2u);
  forget_lost_device();
}

TEST(DeviceHealth, TooLittleMemoryNamesSizesAndOptions) {
  const MemoryOfGpu gpus[] = {{Device::gpu(0), size_t{1} << 30, size_t{80} << 30},
                              {Device::gpu(1), size_t{70} << 30, size_t{80} << 30},
                              {Device::gpu(2), size_t{2} << 30, size_t{80} << 30}};
  const std::string text = gpu_memory_text(size_t{3} << 30, Device::gpu(0), gpus);
  for (const char* part : {"3072 MiB", "1024 of 81920 MiB", "71680 MiB are free on cuda:1",
                           "--device", "--weights q8", "--kv-mib"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(text.find("cuda:2"), std::string::npos) << text;
}

}  // namespace
}  // namespace syrinx
