// A few host threads that recognise speech for many listeners in turn, one short piece of work at a
// time. They have a lower priority than the threads that synthesise speech, because a late
// transcript causes no audible gap.
#pragma once

#include <functional>

#include "base/workers.h"

namespace syrinx {

class HearingThreads : public Workers<std::function<void()>> {
 public:
  explicit HearingThreads(int threads)
      : Workers(
            threads, [](const std::function<void()>& piece) { piece(); }, kNice) {}

 private:
  /// When other threads need the core, too, each of these threads gets a tenth of it.
  static constexpr int kNice = 10;
};

}  // namespace syrinx
