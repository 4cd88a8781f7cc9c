// The order of a recogniser's passes, and predictions of how late their transcripts will be. A pass
// transcribes a recording whose speaker waits. The predictions use the durations of earlier passes.
// Live passes run in the order in which they became due, only a few at a time, so that the first
// ones end early. A background pass may always run, because the engine runs it only if no live pass
// has work. Times are seconds of one clock, which never decreases. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace syrinx {

class Backlog {
 public:
  using Pass = int64_t;  ///< number of a due pass; 0 means no pass

  /// `at_once`: limit of live passes that may run at the same time, at least 1.
  explicit Backlog(int at_once) : at_once_(at_once) {}

  /// Adds a due pass and returns its number. From now on the pass waits or runs.
  Pass begin(double now_s, bool background = false);
  /// Makes a background pass live. The pass keeps its place in the order.
  void raise(Pass pass);
  /// Removes a pass. `done`: the pass ran to its end.
  void end(Pass pass, double now_s, bool done);
  /// Returns whether a due pass may run now.
  bool may_run(Pass pass) const;

  /// Returns the seconds until a new pass would begin if it waited for all due passes except `own`.
  /// The prediction for each pass is the mean duration of earlier passes (kUnknown_s before the
  /// first). It is never less than the time that the running pass has needed so far.
  double wait_s(double now_s, Pass own = 0) const;
  /// Predicts the seconds between the time at which a pass became due and its end; 0 if it may run
  /// now. The prediction includes the time that has passed, so it grows while passes need longer
  /// than earlier ones. `pass` 0 means a live pass that becomes due now.
  double delay_s(double now_s, Pass pass) const;

  static constexpr double kUnknown_s = 1;

 private:
  struct Due {
    Pass pass;
    double since_s;
    bool background;
  };
  /// The end of each pass multiplies the weight of earlier measurements by this factor.
  static constexpr double kKept = 0.9;

  int live_before(Pass pass) const;  // number of live passes before a pass; for 0, of all
  double since_s(Pass pass, double now_s) const;
  double pass_s(double now_s) const;

  const int at_once_;
  Pass last_ = 0;
  std::vector<Due> due_;  // in the order of begin()
  double since_s_ = 0;    // time when the last pass ended, or when the first one became due
  double spent_s_ = 0, made_ = 0;  // weighted sums: seconds with due passes; number of ended passes
};

}  // namespace syrinx
