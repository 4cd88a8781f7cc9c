// Chooses among several servers for the next request: the server with the fewest unfinished
// requests, except servers that rest after a failure. Thread-safe; the caller passes the time.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace syrinx {

class BatchServers {
 public:
  /// `jobs`: most unfinished requests of each server.
  BatchServers(std::vector<std::string> urls, int jobs);

  struct Lease {
    size_t index;
    std::string url;
  };
  /// Chooses a server. Returns nothing when every server is full or rests; try again soon.
  std::optional<Lease> take(double now_s);
  /// Ends a request that the server answered, even if the answer is an error of the request.
  void give_back(const Lease& lease, double now_s);
  /// Ends a request that the server did not accept. The server rests for `rest_s`. If `rest_s` is
  /// 0, it rests for 0.5 s to 15 s, longer after each consecutive failure.
  void failed(const Lease& lease, double rest_s, double now_s);
  /// Returns when a request was last answered; before that, when the first take() was called.
  double last_good_s() const;

 private:
  struct Server {
    std::string url;
    int running = 0;
    int failures = 0;  // consecutive failures
    double rests_until_s = 0;
  };
  const int jobs_;
  mutable std::mutex mutex_;
  std::vector<Server> servers_;
  double last_good_s_ = -1;
};

}  // namespace syrinx
