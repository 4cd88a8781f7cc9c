// The passes of a recogniser that speakers wait for: their order, and how late their transcripts
// are, predicted from what passes took. Live passes run in the order in which they became due, a
// few at a time, so that the first ones end early; more at once would all end late. A pass in the
// background is not held back, as the engine runs it only when no live pass has work. Calls take
// the time in seconds of one clock, which never goes back. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace syrinx {

class Backlog {
 public:
  using Pass = int64_t;  ///< number of a due pass; 0: none

  /// `at_once`: live passes that may run at the same time, at least 1.
  explicit Backlog(int at_once) : at_once_(at_once) {}

  /// Adds a due pass, which waits or runs from now on.
  Pass begin(double now_s, bool background = false);
  /// Makes a background pass live; it keeps its turn.
  void raise(Pass pass);
  /// Removes a pass; `done`: it ran to its end.
  void end(Pass pass, double now_s, bool done);
  /// Returns whether a due pass may run now.
  bool may_run(Pass pass) const;

  /// Returns the seconds until a new pass would begin if it waited for all due passes but `own`.
  /// Each pass is predicted to take the mean time of earlier passes (kUnknown_s before the first),
  /// and at least the time that the running pass has taken so far.
  double wait_s(double now_s, Pass own = 0) const;
  /// Predicts the seconds from when a pass became due until its end; 0: it may run now. Time that
  /// has passed counts, so the prediction grows while passes take longer than those before. For
  /// `pass` 0: predicts this for a live pass that becomes due now.
  double delay_s(double now_s, Pass pass) const;

  static constexpr double kUnknown_s = 1;

 private:
  struct Due {
    Pass pass;
    double since_s;
    bool background;
  };
  /// Factor by which each pass reduces the weight of earlier measurements.
  static constexpr double kKept = 0.9;

  int live_before(Pass pass) const;  // returns the live passes before a pass; 0: all live passes
  double since_s(Pass pass, double now_s) const;
  double pass_s(double now_s) const;

  const int at_once_;
  Pass last_ = 0;
  std::vector<Due> due_;  // in the order of begin()
  double since_s_ = 0;    // time at which the last pass ended, or the first due pass arrived
  double spent_s_ = 0, made_ = 0;  // fading sums: seconds with due passes, and passes that ended
};

}  // namespace syrinx
