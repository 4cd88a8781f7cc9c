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
  /// Returns the seconds until a pass would begin behind those that are due, without `own` of them.
  /// A pass takes what earlier ones took (kUnknown_s before any was made), and at least what the
  /// one that runs has taken so far.
  double wait_s(double now_s, int own = 0) const;

  static constexpr double kUnknown_s = 1;

 private:
  /// Share of the past that a pass leaves of what was measured before.
  static constexpr double kKept = 0.9;

  int due_ = 0;
  double since_s_ = 0;             // when the last pass was made, or the first of those due came
  double spent_s_ = 0, made_ = 0;  // fading: seconds with passes due, passes that were made
};

}  // namespace syrinx
