#include "cli/serve/hub.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/check.h"
#include "base/clock.h"
#include "cli/line/exit.h"
#include "cli/line/progress_line.h"
#include "io/file.h"
#include "io/hub.h"
#include "io/hub_pull/hub_pull.h"

namespace syrinx {
namespace {

struct HubPullOptions {
  std::vector<std::string> models;
  std::vector<std::string> include;
};

/// A file on its way, with the speed since it began or went on and the time that is left.
class Arrival {
 public:
  std::string line(const std::string& path, int64_t have, int64_t size) {
    if (path != path_ || have < first_) path_ = path, first_ = have, began_s_ = now_s();
    const auto text = [](double bytes) { return size_text(static_cast<uint64_t>(bytes)); };
    const double passed_s = now_s() - began_s_;
    std::string out = concat(path, ": ", text(static_cast<double>(have)), " of ",
                             text(static_cast<double>(size)));
    if (passed_s < 1) return out;
    const double speed = static_cast<double>(have - first_) / passed_s;
    out += ", " + text(speed) + "/s";
    if (speed < 1) return out;
    const auto left_s = static_cast<int64_t>(static_cast<double>(size - have) / speed);
    return concat(out, ", ", left_s / 60, " min ", left_s % 60, " s left");
  }

 private:
  std::string path_;
  int64_t first_ = 0;
  double began_s_ = 0;
};

int run_hub_pull(const HubPullOptions& options) {
  for (const std::string& model : options.models) {
    ProgressLine progress;
    Arrival arrival;
    const std::string directory = pull_model(
        model, {.endpoint = hub_endpoint(),
                .cache = hub_cache(),
                .token = hub_token(),
                .include = options.include,
                .log =
                    [&](const std::string& line) {
                      progress.clear();
                      std::fprintf(stderr, "%s\n", line.c_str());
                    },
                .progress = [&](const std::string& path, int64_t have,
                                int64_t size) { progress.show(arrival.line(path, have, size)); }});
    progress.clear();
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
