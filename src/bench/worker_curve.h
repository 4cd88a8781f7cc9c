// What one worker of a fleet does at every steady rate of requests, measured in the exact simulator
// on a small fleet behind the same balancer. Seconds; const after calibrate(), any thread.
#pragma once

#include <functional>
#include <vector>

#include "bench/simulator.h"
#include "bench/summary.h"

namespace syrinx {

/// How a worker does at one rate of requests.
struct CurvePoint {
  double rate = 0;                  ///< requests a second that come to a worker
  double ok = 1;                    ///< share that ends well; the others are refused
  double good = 1;                  ///< share that is in time and without an underrun
  std::vector<double> first_audio;  ///< of good ends: kQuantiles + 1 quantiles, evenly apart
  double audio_s = 0;               ///< of a request that ends well, mean
  double used = 0, wait_s = 0;      ///< what the worker says of itself, mean
  double free = 1;                  ///< what its agent says, mean
  double in_flight = 0, playing = 0;
  int requests = 0;  ///< that this rests on
};

/// Measured points of one worker, and values between them by straight lines.
class WorkerCurve {
 public:
  static constexpr int kQuantiles = 200;
  /// Where a rate lies: between points `below` and `below` + 1, `part` of the way.
  struct Place {
    size_t below = 0;
    double part = 0;
  };

  /// At least two points, rates rising from 0.
  explicit WorkerCurve(std::vector<CurvePoint> points);
  const std::vector<CurvePoint>& points() const { return points_; }
  /// Rates past the last point are as that one; it takes no more.
  Place find(double rate) const;
  double most_rate() const { return points_.back().rate; }
  double used(Place at) const { return between(at, &CurvePoint::used); }
  double free(Place at) const { return between(at, &CurvePoint::free); }
  double wait_s(Place at) const { return between(at, &CurvePoint::wait_s); }
  double in_flight(Place at) const { return between(at, &CurvePoint::in_flight); }
  double playing(Place at) const { return between(at, &CurvePoint::playing); }

 private:
  double between(Place at, double CurvePoint::*value) const {
    const double low = points_[at.below].*value;
    return low + at.part * (points_[at.below + 1].*value - low);
  }
  std::vector<CurvePoint> points_;
};

/// Options of the simulations that make a curve.
struct CurveOptions {
  int workers = 4;                    ///< of the small fleet
  int requests = 4000;                ///< for each rate
  double least_s = 20, most_s = 600;  ///< and the time that these take
  ServiceTargets targets;
  uint64_t seed = 0;
};

/// Looks for the rate at which a worker is full, then runs rates from idle to twice that.
/// `progress(rate)` is called before each.
WorkerCurve calibrate(const StepProfile& profile, const SimulationOptions& options,
                      const CurveOptions& how,
                      const std::function<void(double rate)>& progress = {});

}  // namespace syrinx
