#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include "tensor/context.h"

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

}  // namespace
}  // namespace syrinx
