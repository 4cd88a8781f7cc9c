// How far a recogniser is behind, predicted from what its passes took. Calls take the time in
// seconds of one clock, which never goes back. One thread at a time.
#pragma once

namespace syrinx {

class Backlog {
 public:
  /// A pass is due: it waits or runs from now on.
  void begin(double now_s);
  /// A pass is no longer due; `done`: it ran to its end.
  void end(double now_s, bool done);
  /// Returns the seconds until a new pass would begin if it waited for all due passes but `own` of
  /// them. Each pass is predicted to take the mean time of earlier passes (kUnknown_s before the
  /// first), and at least the time that the running pass has taken so far.
  double wait_s(double now_s, int own = 0) const;

  static constexpr double kUnknown_s = 1;

 private:
  /// Factor by which each pass reduces the weight of earlier measurements.
  static constexpr double kKept = 0.9;

  int due_ = 0;
  double since_s_ = 0;             // when the last pass ended, or the first due pass arrived
  double spent_s_ = 0, made_ = 0;  // fading: seconds with passes due, passes that were made
};

}  // namespace syrinx
