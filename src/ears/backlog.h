// How far a recogniser is behind, predicted from what its passes took. Calls take the time in
// seconds of one clock, which never goes back. One thread at a time.
#pragma once

namespace syrinx {

class Backlog {
 public:
  /// A pass is due: it waits or runs from now on.
  void begin(double now_s);
  /// A pass is due no more; `done`: it was made.
  void end(double now_s, bool done);
  /// Seconds until one more pass would begin. A pass takes what earlier ones took, and at least
  /// what the one that runs has taken so far.
  double wait_s(double now_s) const;

 private:
  /// Share of the past that a pass leaves of what was measured before.
  static constexpr double kKept = 0.9;

  int due_ = 0;
  double since_s_ = 0;             // when the last pass was made, or the first of those due came
  double spent_s_ = 0, made_ = 0;  // fading: seconds with passes due, passes that were made
};

}  // namespace syrinx
