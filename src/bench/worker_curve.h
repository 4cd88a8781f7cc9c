// Results of one worker of a fleet at every steady rate of requests. They are simulated request by
// request, with a small fleet behind the same balancer. Seconds. Const after calibrate().
#pragma once

#include <functional>
#include <vector>

#include "bench/simulator.h"
#include "bench/summary.h"

namespace syrinx {

/// The results of a worker at one rate of requests.
struct CurvePoint {
  double rate = 0;  ///< requests per second for this worker
  double ok = 1;    ///< share of successful requests; other requests are refused
  double good = 1;  ///< share of requests in time and without an underrun
  /// kQuantiles + 1 quantiles of the seconds to first audio of successful requests.
  std::vector<double> first_audio;
  double audio_s = 0;           ///< mean audio of a successful request
  double used = 0, wait_s = 0;  ///< means of used() and of the predicted wait
  double free = 1;              ///< mean of the free share that the agent reports
  double in_flight = 0, playing = 0;
  int requests = 0;  ///< number of requests that were measured
};

/// Measured points of one worker, joined by straight lines.
class WorkerCurve {
 public:
  static constexpr int kQuantiles = 200;
  /// The position of a rate: between points `below` and `below` + 1, `part` of the way.
  struct Position {
    size_t below = 0;
    double part = 0;
  };

  /// Stores at least two points, whose rates rise from 0.
  explicit WorkerCurve(std::vector<CurvePoint> points);
  const std::vector<CurvePoint>& points() const { return points_; }
  /// Finds the position of a rate. Rates beyond the last point get its position, because the worker
  /// accepts no more requests.
  Position find(double rate) const;
  double most_rate() const { return points_.back().rate; }
  double used(Position at) const { return between(at, &CurvePoint::used); }
  double free(Position at) const { return between(at, &CurvePoint::free); }
  double wait_s(Position at) const { return between(at, &CurvePoint::wait_s); }
  double in_flight(Position at) const { return between(at, &CurvePoint::in_flight); }
  double playing(Position at) const { return between(at, &CurvePoint::playing); }

 private:
  double between(Position at, double CurvePoint::*value) const {
    const double low = points_[at.below].*value;
    return low + at.part * (points_[at.below + 1].*value - low);
  }
  std::vector<CurvePoint> points_;
};

/// Options of the simulations that make a curve.
struct CurveOptions {
  int workers = 4;                    ///< workers of the small fleet
  int requests = 4000;                ///< requests for each rate
  double least_s = 20, most_s = 600;  ///< bounds of the simulated time for each rate
  ServiceTargets targets;
  uint64_t seed = 0;
};

/// Finds the rate at which a worker is full. Then simulates rates from idle to twice that rate.
/// Calls `progress(rate)` before each simulation.
WorkerCurve calibrate(const StepProfile& profile, const SimulationOptions& options,
                      const CurveOptions& how,
                      const std::function<void(double rate)>& progress = {});

}  // namespace syrinx
