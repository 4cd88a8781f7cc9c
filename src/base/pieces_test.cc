#include "base/pieces.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

namespace syrinx {
namespace {

Pieces count(int to, int& at, std::shared_ptr<int> kept = nullptr) {
  for (int i = 0; i < to; ++i) {
    ++at;
    co_await PieceEnd();
  }
  if (kept) ++*kept;
}

Pieces twice(int to, int& at) {
  for (int i = 0; i < 2; ++i) {
    for (Pieces inner = count(to, at); !inner.done(); inner.next()) co_await PieceEnd();
  }
}

Pieces unlucky(int& at) {
  co_await PieceEnd();
  ++at;
  throw std::runtime_error("unlucky");
}

TEST(Pieces, StopAfterEachPiece) {
  int at = 0;
  Pieces work = count(3, at);
  EXPECT_EQ(at, 0) << "nothing runs before it is asked to";
  for (int i = 1; i <= 3; ++i) {
    ASSERT_FALSE(work.done());
    work.next();
    EXPECT_EQ(at, i);
  }
  work.next();
  EXPECT_TRUE(work.done());
  EXPECT_TRUE(Pieces().done());
}

TEST(Pieces, HoldPiecesOfOthers) {
  int at = 0, pieces = 0;
  for (Pieces work = twice(4, at); !work.done(); work.next()) ++pieces;
  EXPECT_EQ(at, 8);
  EXPECT_GT(pieces, 8);
}

TEST(Pieces, WhatAPieceThrowsComesOut) {
  int at = 0;
  Pieces work = unlucky(at);
  work.next();
  EXPECT_THROW(work.next(), std::runtime_error);
  EXPECT_EQ(at, 1);
  EXPECT_TRUE(work.done());
}

TEST(Pieces, LeftEarlyGiveBackWhatTheyHold) {
  int at = 0;
  const auto kept = std::make_shared<int>(0);
  {
    Pieces work = count(3, at, kept);
    work.next();
    Pieces moved = std::move(work);
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(*kept, 0);
}

}  // namespace
}  // namespace syrinx
