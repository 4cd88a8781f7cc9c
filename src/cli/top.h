// `syrinx top`: what all workers of a fleet are doing, drawn again and again. Main thread.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

struct TopOptions {
  std::vector<std::string> urls;  ///< empty: the server of this machine
  std::string api_key_file;
  double every_s = 1;
  bool once = false;
  bool json = false;  ///< one line of JSON for each look
};

/// Ends when it is interrupted. Exit code of `once`: 1 when a worker is not ready.
int run_top(const TopOptions& options);

}  // namespace syrinx
