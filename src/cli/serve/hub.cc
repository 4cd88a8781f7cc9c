#include "cli/serve/hub.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/line/exit.h"
#include "io/hub.h"
#include "io/hub_pull/hub_pull.h"

namespace syrinx {
namespace {

struct HubPullOptions {
  std::vector<std::string> models;
  std::vector<std::string> include;
};

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

}  // namespace

void add_hub(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<HubPullOptions>();
  HubPullOptions& pull = *options;
  CLI::App* hub = app.add_subcommand("hub", "Models of the hub");
  hub->require_subcommand(1);
  CLI::App* sub = hub->add_subcommand("pull",
                                      "Download models into the hub's local cache, or go on with "
                                      "it (HF_ENDPOINT, HF_HOME, HF_TOKEN)");
  sub->add_option("model", pull.models, "Org/Name or Org/Name@revision")->required();
  sub->add_option("--include", pull.include, "only files like this: '*.safetensors'; repeatable");
  sub->callback([&chosen, options] { chosen = [options] { return run_hub_pull(*options); }; });
}

}  // namespace syrinx
