// Which of several servers the next request goes to: the one with the fewest under way that is not
// resting after a failure. Thread-safe; time is given.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace syrinx {

class BatchServers {
 public:
  /// At most `jobs` requests at a time to each.
  BatchServers(std::vector<std::string> urls, int jobs);

  struct Lease {
    size_t index;
    std::string url;
  };
  /// Nothing: all are full or resting; try again soon.
  std::optional<Lease> take(double now_s);
  /// It answered, also with an error that is the request's own.
  void give_back(const Lease& lease, double now_s);
  /// It takes nothing now: not for `rest_s`, or, where that is 0, for longer after each failure in
  /// a row, from half a second to 15 s.
  void failed(const Lease& lease, double rest_s, double now_s);
  /// When a request was last answered, or the first one asked for.
  double last_good_s() const;

 private:
  struct Server {
    std::string url;
    int running = 0;
    int failures = 0;  // in a row
    double rests_until_s = 0;
  };
  const int jobs_;
  mutable std::mutex mutex_;
  std::vector<Server> servers_;
  double last_good_s_ = -1;
};

}  // namespace syrinx
