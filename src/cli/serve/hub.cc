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
#include "io/known_models.h"

namespace syrinx {
namespace {

struct HubPullOptions {
  std::vector<std::string> models;
  std::vector<std::string> include;
  bool dry_run = false;
};

/// Computes the speed of a file's download since its start or resumption, and the time left.
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

/// Downloads a repository; returns the directory of its snapshot.
std::string pull(const std::string& repository, const std::vector<std::string>& include,
                 const std::string& licence, bool dry_run) {
  ProgressLine progress;
  Arrival arrival;
  PullOptions options{.endpoint = hub_endpoint(),
                      .cache = hub_cache(),
                      .token = hub_token(),
                      .include = include,
                      .licence = licence,
                      .dry_run = dry_run};
  options.log = [&](const std::string& line) {
    progress.clear();
    std::fprintf(stderr, "%s\n", line.c_str());
  };
  options.progress = [&](const std::string& path, int64_t have, int64_t size) {
    progress.show(arrival.line(path, have, size));
  };
  std::string directory = pull_model(repository, options);
  progress.clear();
  return directory;
}

/// Returns a text that names the page with the further steps.
std::string completed(const KnownModel& model) {
  return concat("needs further files, see docs/families/", model.page, ".md");
}

/// Downloads the files that a known model needs, then the model; returns its directory.
std::string pull_known(const KnownModel& model, const HubPullOptions& options) {
  for (const std::string& name : model.needs) {
    const auto part = find_known_model(name);
    SYRINX_CHECK(part.has_value(), "[hub] ", model.name, " needs unknown ", name);
    pull_known(*part, options);
  }
  const std::string directory =
      pull(model.repository, options.include.empty() ? model.include : options.include,
           model.licence, options.dry_run);
  if (!model.page.empty())
    std::fprintf(stderr, "%s %s\n", model.name.c_str(), completed(model).c_str());
  return model.file.empty() ? directory : join_path(directory, model.file);
}

int run_hub_pull(const HubPullOptions& options) {
  for (const std::string& name : options.models) {
    const auto known = find_known_model(name);
    const std::string path =
        known ? pull_known(*known, options) : pull(name, options.include, "", options.dry_run);
    if (!options.dry_run) std::printf("%s\n", path.c_str());
  }
  return 0;
}

int run_hub_list() {
  const auto line = [](const std::string& name, const std::string& repository,
                       const std::string& size, const std::string& rest) {
    std::printf("%-32s %-41s %8s  %s\n", name.c_str(), repository.c_str(), size.c_str(),
                rest.c_str());
  };
  line("name", "repository", "about MB", "licence");
  for (const KnownModel& model : known_models()) {
    std::string rest = model.licence + (model.gated ? "; accept its terms and set HF_TOKEN" : "");
    for (size_t i = 0; i < model.needs.size(); ++i) {
      rest += (i == 0 ? "; needs " : ", ") + model.needs[i];
    }
    if (!model.page.empty()) rest += "; " + completed(model);
    line(model.name, model.repository,
         model.megabytes > 0 ? std::to_string(model.megabytes) : "unknown", rest);
  }
  return 0;
}

}  // namespace

void add_hub(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<HubPullOptions>();
  HubPullOptions& pulled = *options;
  CLI::App* hub = app.add_subcommand("hub", "Download and list models of the hub");
  hub->require_subcommand(1);
  CLI::App* sub = hub->add_subcommand("pull",
                                      "Download models into the hub's local cache, or continue a "
                                      "download (HF_ENDPOINT, HF_HOME, HF_TOKEN)");
  sub->add_option("model", pulled.models,
                  "a name of 'syrinx hub list' (kokoro, piper:en_US-lessac-medium), Org/Name or "
                  "Org/Name@revision")
      ->required();
  sub->add_option("--include", pulled.include,
                  "only files that match, e.g. '*.safetensors'; repeatable");
  sub->add_flag("--dry-run", pulled.dry_run, "only report sizes and licences");
  sub->callback([&chosen, options] { chosen = [options] { return run_hub_pull(*options); }; });
  hub->add_subcommand("list", "List the models with a short name: sizes, licences, requirements")
      ->callback([&chosen] { chosen = run_hub_list; });
}

}  // namespace syrinx
