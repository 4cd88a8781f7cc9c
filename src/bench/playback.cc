#include "bench/playback.h"

#include <algorithm>

namespace syrinx {
namespace {

/// Differences of times below this are rounding errors.
constexpr double kEpsilon_s = 1e-9;

}  // namespace

double Playback::arrive(double at_s, double audio_s) {
  if (figures_.chunks == 0) {
    figures_.chunks = 1;
    chunk_began_s_ = ends_s_ = at_s;
  } else if (at_s - chunk_began_s_ >= kSameChunk_s) {
    ++figures_.chunks;
    chunk_began_s_ = at_s;
    // ends_s_ - stall_s is the time at which a player that never waits would run dry.
    if (at_s <= ends_s_ - figures_.stall_s + kEpsilon_s) ++figures_.viable_chunks;
    if (const double late = at_s - ends_s_; late > kEpsilon_s) {
      ++figures_.underruns;
      figures_.max_underrun_s = std::max(figures_.max_underrun_s, late);
      figures_.stall_s += late;
      ends_s_ = at_s;
    }
  }
  const double heard_s = ends_s_;
  ends_s_ += audio_s;
  figures_.audio_s += audio_s;
  return heard_s;
}

}  // namespace syrinx
