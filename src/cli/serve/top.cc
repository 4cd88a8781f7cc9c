#include "cli/serve/top.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "base/calendar.h"
#include "base/check.h"
#include "base/clock.h"
#include "cli/files/http_client.h"
#include "cli/line/exit.h"
#include "cli/line/interrupt.h"
#include "cli/line/ranges.h"
#include "cli/serve/fleet_view.h"

namespace syrinx {
namespace {

struct TopOptions {
  std::vector<std::string> urls;  ///< empty means the server of this machine
  std::string api_key_file;
  double every_s = 1;
  bool once = false;
  bool json = false;  ///< print a line of JSON for each reading
};

/// A worker with its previous metrics.
class Watched {
 public:
  Watched(const std::string& url, const std::string& api_key)
      : url_(base_url(url)),
        client_({.api_key = api_key,
                 .timeout_s = 2,
                 .connect_timeout_s = 1,
                 .max_bytes = size_t{4} << 20}) {}

  WorkerView look() {
    const HttpAnswer health = client_.get(url_ + "/health");
    if (!health.ok()) return lost(health);
    const HttpAnswer metrics = client_.get(url_ + "/metrics");
    if (!metrics.ok()) return lost(metrics);
    Scrape now = read_metrics(metrics.body, now_s());
    WorkerView view = view_worker(name(), health.body, now, before_ ? &*before_ : nullptr);
    before_ = std::move(now);
    return view;
  }

 private:
  std::string name() const { return url_.substr(url_.find("://") + 3); }
  WorkerView lost(const HttpAnswer& answer) {
    before_.reset();
    const std::string why =
        answer.failure.empty() ? "status " + std::to_string(answer.status) : answer.failure;
    return unreachable_worker(name(), why);
  }

  const std::string url_;
  HttpClient client_;
  std::optional<Scrape> before_;
};

/// Controls the terminal: hides the cursor and turns off line wrapping while this object exists.
class Screen {
 public:
  // Without line wrapping, long lines end at the terminal's edge.
  explicit Screen(bool used) : used_(used) { put("\033[?25l\033[?7l\033[2J"); }
  ~Screen() { put("\033[?7h\033[?25h"); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  /// Draws the text over the previous text, from the top left.
  void draw(const std::string& text) const {
    std::string out = "\033[H";
    for (const char c : text) out += c == '\n' ? std::string("\033[K\n") : std::string(1, c);
    put((out + "\033[J").c_str());
  }

 private:
  void put(const char* text) const {
    if (!used_) return;
    std::fputs(text, stdout);
    std::fflush(stdout);
  }
  const bool used_;
};

std::string clock_now() { return local_text(std::time(nullptr), "%H:%M:%S"); }

/// Queries all workers at the same time, so that a worker without an answer delays no other.
std::vector<WorkerView> look_at(std::vector<std::unique_ptr<Watched>>& workers) {
  std::vector<std::future<WorkerView>> looks;
  for (const auto& worker : workers) {
    looks.push_back(std::async(std::launch::async, [&worker] { return worker->look(); }));
  }
  std::vector<WorkerView> views;
  for (auto& look : looks) views.push_back(look.get());
  return views;
}

int run_top(const TopOptions& options) {
  std::vector<std::string> urls = options.urls;
  if (urls.empty()) urls.emplace_back("http://127.0.0.1:8080");
  const std::string key = read_client_key(options.api_key_file);
  std::vector<std::unique_ptr<Watched>> workers;
  for (const std::string& url : urls) workers.push_back(std::make_unique<Watched>(url, key));
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const InterruptGuard interrupted;
  const Screen screen(terminal && !options.once && !options.json);
  for (;;) {
    const double began_s = now_s();
    const std::vector<WorkerView> views = look_at(workers);
    interrupted.check();
    if (options.json || options.once || !terminal) {
      const std::string text =
          options.json ? workers_json(views) : draw_workers(views, terminal && options.once);
      std::fputs(text.c_str(), stdout);
      if (std::fflush(stdout) != 0) return kExitFailed;
    } else {
      screen.draw(concat("syrinx top  ", clock_now(), "  every ", options.every_s,
                         " s, Ctrl-C ends\n\n", draw_workers(views, true)));
    }
    if (options.once) {
      const bool all = std::all_of(views.begin(), views.end(),
                                   [](const WorkerView& view) { return view.state == "ready"; });
      return all ? kExitOk : kExitFailed;
    }
    while (now_s() < began_s + options.every_s) {
      interrupted.check();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace

void add_top(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<TopOptions>();
  TopOptions& top = *options;
  CLI::App* sub = app.add_subcommand("top", "Show the state of servers");
  sub->add_option("url", top.urls,
                  "http://host:port of each server (default: http://127.0.0.1:8080)");
  sub->add_option("--every", top.every_s, "seconds between two readings")
      ->check(between(0.1, 3600.0))
      ->capture_default_str();
  sub->add_flag("--once", top.once, "read once and exit, with code 1 if a server is not ready");
  sub->add_flag("--json", top.json, "print a line of JSON for each reading");
  sub->add_option(
      "--api-key-file", top.api_key_file,
      "file whose first line is the servers' key (or set SYRINX_API_KEY or OPENAI_API_KEY)");
  sub->callback([&chosen, options] { chosen = [options] { return run_top(*options); }; });
}

}  // namespace syrinx
