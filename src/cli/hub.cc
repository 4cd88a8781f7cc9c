#include "io/hub.h"

#include <cstdio>

#include "cli/commands.h"
#include "io/hub_pull/hub_pull.h"

namespace syrinx {

int run_hub_pull(const HubPullOptions& options) {
  for (const std::string& model : options.models) {
    const std::string directory = pull_model(model, {.endpoint = hub_endpoint(),
                                                     .cache = hub_cache(),
                                                     .token = hub_token(),
                                                     .include = options.include,
                                                     .log = [](const std::string& line) {
                                                       std::fprintf(stderr, "%s\n", line.c_str());
                                                     }});
    std::printf("%s\n", directory.c_str());
  }
  return 0;
}

}  // namespace syrinx
