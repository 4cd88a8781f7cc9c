#include "cli/doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/doctor/gather.h"
#include "cli/line/exit.h"

namespace syrinx {
namespace {

struct DoctorOptions {
  int port = 8080;
  bool json = false;
};

void print_text(const std::vector<Finding>& findings, const std::string& version) {
  size_t width = 0;
  for (const Finding& each : findings) width = std::max(width, each.topic.size());
  std::printf("syrinx %s\n", version.c_str());
  for (const Finding& each : findings) {
    std::printf("%-*s  %-7s  %s\n", static_cast<int>(width), each.topic.c_str(),
                health_name(each.health), each.detail.c_str());
    if (each.advice.empty()) continue;
    std::printf("%*s  -> %s\n", static_cast<int>(width) + 9, "", each.advice.c_str());
  }
}

void print_json(const std::vector<Finding>& findings, const std::string& version) {
  nlohmann::ordered_json out{{"version", version}, {"findings", nlohmann::ordered_json::array()}};
  for (const Finding& each : findings) {
    out["findings"].push_back({{"topic", each.topic},
                               {"health", health_name(each.health)},
                               {"detail", each.detail},
                               {"advice", each.advice}});
  }
  constexpr int kIndent = 2;
  std::printf("%s\n",
              out.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int run_doctor(const DoctorOptions& options, const std::string& version) {
  const MachineFacts facts = gather_facts(options.port);
  const std::vector<Finding> findings = examine(facts);
  (options.json ? print_json : print_text)(findings, version);
  const bool broken = std::any_of(findings.begin(), findings.end(), [](const Finding& each) {
    return each.health == Health::kBroken;
  });
  return broken ? kExitFailed : kExitOk;
}

}  // namespace

void add_doctor(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* sub = app.add_subcommand(
      "doctor", "Show what works on this machine, and what to install for the rest");
  sub->add_option("--port", options->port, "the port on which `syrinx serve` will listen")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  sub->add_flag("--json", options->json, "print the report as JSON");
  sub->footer("Exits with code 1 if the built-in voice cannot speak.");
  sub->callback([&app, &chosen, options] {
    chosen = [options, version = app.version()] { return run_doctor(*options, version); };
  });
}

}  // namespace syrinx
