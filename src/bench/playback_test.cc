#include "bench/playback.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace syrinx {
namespace {

struct Piece {
  double at_s, audio_s;
};

struct Case {
  std::string name;
  std::vector<Piece> pieces;
  PlaybackFigures want;
  double ends_s;
};

class PlaybackTable : public testing::TestWithParam<Case> {};

TEST_P(PlaybackTable, Figures) {
  const Case& c = GetParam();
  Playback playback;
  for (const Piece& piece : c.pieces) playback.arrive(piece.at_s, piece.audio_s);
  const PlaybackFigures& got = playback.figures();
  EXPECT_EQ(got.chunks, c.want.chunks);
  EXPECT_EQ(got.viable_chunks, c.want.viable_chunks);
  EXPECT_EQ(got.underruns, c.want.underruns);
  EXPECT_NEAR(got.max_underrun_s, c.want.max_underrun_s, 1e-9);
  EXPECT_NEAR(got.stall_s, c.want.stall_s, 1e-9);
  EXPECT_NEAR(got.audio_s, c.want.audio_s, 1e-9);
  EXPECT_NEAR(playback.ends_s(), c.ends_s, 1e-9);
  EXPECT_EQ(got.viable(), got.viable_chunks == got.chunks - 1 || got.chunks == 0);
}

// Columns of the expected figures: chunks, viable, underruns, longest, stall, audio.
INSTANTIATE_TEST_SUITE_P(
    Tables, PlaybackTable,
    testing::Values(
        Case{"nothing", {}, {0, 0, 0, 0, 0, 0}, 0},
        Case{"one", {{5, 0.2}}, {1, 0, 0, 0, 0, 0.2}, 5.2},
        Case{"ahead", {{0.1, 0.5}, {0.2, 0.5}, {0.9, 0.5}}, {3, 2, 0, 0, 0, 1.5}, 1.6},
        Case{"just_in_time", {{0, 0.1}, {0.1, 0.1}, {0.2, 0.1}}, {3, 2, 0, 0, 0, 0.3}, 0.3},
        // The second chunk is 0.1 s late. The third is in time for a player that waited (until
        // 0.4), and late for a player that did not wait (until 0.3).
        Case{"waits", {{0, 0.1}, {0.2, 0.2}, {0.35, 1}}, {3, 0, 1, 0.1, 0.1, 1.3}, 1.4},
        Case{"twice", {{0, 0.1}, {0.15, 0.1}, {0.55, 0.1}}, {3, 0, 2, 0.3, 0.35, 0.3}, 0.65},
        Case{"longest_first", {{0, 0.1}, {0.4, 0.1}, {0.55, 0.1}}, {3, 0, 2, 0.3, 0.35, 0.3}, 0.65},
        // After a pause, the second chunk is so long that a player that never waits is in time
        // again.
        Case{"recovers", {{0, 0.1}, {0.2, 5}, {0.3, 1}}, {3, 1, 1, 0.1, 0.1, 6.1}, 6.2},
        Case{"pieces_of_one_chunk",
             {{0, 0.1}, {0.0005, 0.1}, {0.3, 0.1}, {0.3009, 0.1}},
             {2, 0, 1, 0.1, 0.1, 0.4},
             0.5},
        // A chunk lasts at most kSameChunk_s, even if its pieces follow each other closely.
        Case{"dribble",
             {{0, 0.0001}, {0.0008, 0.0001}, {0.0016, 0.1}},
             {2, 0, 1, 0.0014, 0.0014, 0.1002},
             0.1016}),
    [](const testing::TestParamInfo<Case>& made) { return made.param.name; });

TEST(Playback, ReportsWhenAPieceIsHeard) {
  Playback playback;
  EXPECT_DOUBLE_EQ(playback.arrive(1.0, 0.5), 1.0);
  EXPECT_DOUBLE_EQ(playback.arrive(1.2, 0.5), 1.5);  // the audio waits in the buffer
  EXPECT_DOUBLE_EQ(playback.arrive(3.0, 0.5), 3.0);  // played immediately after an underrun
}

}  // namespace
}  // namespace syrinx
