#include "cli/files/batch.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "audio/make_encoder.h"
#include "audio/wav_file.h"
#include "base/check.h"
#include "base/clock.h"
#include "cli/files/batch_list.h"
#include "cli/files/batch_servers.h"
#include "cli/files/book_work.h"
#include "cli/files/http_client.h"
#include "cli/files/many_files.h"
#include "cli/files/request_fields.h"
#include "cli/line/arguments.h"
#include "cli/line/exit.h"
#include "cli/line/interrupt.h"
#include "cli/line/progress_line.h"
#include "cli/line/ranges.h"
#include "cli/speak/text_input.h"
#include "cli/speak/voice_choice.h"
#include "io/abandoned.h"
#include "io/file.h"
#include "server/http/http_server.h"

namespace syrinx {
namespace {

struct BatchOptions {
  LoadOptions load;  ///< options of the engine in this process, if `servers` is empty
  std::string list;  ///< JSON Lines; "-" means the standard input
  std::string output;
  std::vector<std::string> servers;
  std::string api_key_file;
  std::string shard;        ///< e.g. "2/8"
  std::string fields;       ///< a JSON object with defaults for all lines
  SpeechRequest request;    ///< options for lines that do not set them
  std::string format;       ///< "wav", "flac", ...; empty means wav
  std::string voice_store;  ///< directory of voices, used only if `servers` is empty
  int jobs = 32;            ///< most unfinished requests of each server
  double timeout_s = 600;   ///< longest time of a request in seconds
  double patience_s = 60;   ///< seconds without an answer of any server before the command ends
  bool retry_failed = false;
  bool quiet = false;
};

constexpr int kTries = 4;  // most tries of an item to which servers answer with internal errors

/// A server in this process, on a free port and with a secret key. Thus the code for remote servers
/// can also use this process.
class OwnServer {
 public:
  OwnServer(const BatchOptions& options, const std::string& key)
      : server_({.port = 0,
                 .keys = ApiKeys({key}),
                 .access = {.hosts = {"127.0.0.1"}, .origins = {}},
                 .max_connections = options.jobs + 16,
                 .voices = std::make_shared<VoiceDesk>(open_store(options.voice_store))}) {
    server_.open(make_backend(load_engine(options.load)));
  }
  std::string url() const { return concat("http://127.0.0.1:", server_.port()); }

 private:
  HttpServer server_;
};

std::string random_key() {
  std::random_device random;
  return concat("batch-", random(), "-", random(), "-", random(), "-", random());
}

/// Returns the message in an error's body, on one line. `text_field` is the item's name of "input".
std::string fault_of(const HttpAnswer& answer, const std::string& text_field) {
  if (!answer.failure.empty()) return answer.failure;
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  std::string message = answer.body;
  if (body.is_object() && body.contains("error") && body["error"].is_object() &&
      body["error"].contains("message") && body["error"]["message"].is_string()) {
    message = body["error"]["message"].get<std::string>();
    constexpr std::string_view kNative = "'input'";
    const size_t at = message.find(kNative);
    if (at != message.npos && body["error"].value("param", nlohmann::json()) == "input") {
      message.replace(at, kNative.size(), concat("'", text_field, "'"));
    }
  }
  return concat(answer.status, " ", shown(message, 300));
}

std::string encoded(const Wav& wav, AudioFormat format) {
  auto encoder = make_encoder({.format = format, .in_rate_hz = static_cast<int>(wav.rate)});
  if (!encoder) throw LoadError(encoder.error().message);
  std::string bytes;
  encoder.value()->encode(wav.samples, bytes);
  encoder.value()->flush(bytes);
  const std::string first = encoder.value()->first_bytes();  // now with the length of the audio
  return first + bytes.substr(std::min(first.size(), bytes.size()));
}

/// Returns the audio of an answer. On failure returns nothing and puts the reason into `why`.
std::optional<Wav> audio_of(const HttpAnswer& answer, const BatchItem& item, std::string& why) try {
  if (answer.ok()) return parse_wav(answer.body, item.id);
  why = fault_of(answer, item.text_field);
  return std::nullopt;
} catch (const LoadError& error) {  // the body is not a WAV file: a proxy probably sent it
  why = error.what();
  return std::nullopt;
}

class BatchWork {
 public:
  BatchWork(const BatchOptions& options, std::vector<BatchItem> items, BatchManifest& manifest,
            std::vector<std::string> urls, std::string key)
      : options_(options),
        format_(audio_format(options.format).value_or(AudioFormat::kWav)),
        ending_(options.format.empty() ? "wav" : options.format),
        items_(std::move(items)),
        manifest_(manifest),
        servers_(urls, options.jobs),
        key_(std::move(key)),
        threads_(std::min(items_.size(), urls.size() * static_cast<size_t>(options.jobs))) {}

  /// Runs all items. Returns an empty string, or the reason if it stopped early.
  std::string run();
  size_t spoken() const { return done_ - failed_; }
  double audio_s() const { return audio_s_; }

 private:
  void work();
  bool speak(const BatchItem& item, HttpClient& client);
  void keep(const BatchItem& item, const HttpAnswer& answer, const Wav& wav);
  void fail(const BatchItem& item, const std::string& why);
  void note(const BatchItem& item, BatchEntry entry);
  void stop(const std::string& why);
  void took_nothing(const std::string& server, const std::string& why, bool absent);
  std::string nobody_takes() const;
  std::string progress(double began_s) const;

  const BatchOptions& options_;
  const AudioFormat format_;
  const std::string ending_;
  const std::vector<BatchItem> items_;
  BatchManifest& manifest_;
  BatchServers servers_;
  const std::string key_;
  const size_t threads_;
  std::atomic<size_t> next_ = 0, done_ = 0, failed_ = 0;
  std::atomic<bool> stopped_ = false;
  std::atomic<double> audio_s_ = 0;
  mutable std::mutex mutex_;  // protects the manifest and the members below
  std::string why_;
  std::string trouble_;           // last error of a server that accepted no request
  std::set<std::string> absent_;  // absent servers that were already reported
};

void BatchWork::stop(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (why_.empty()) why_ = why;
  stopped_ = true;
}

/// Records that a server accepted no request. Reports an absent server once, so that the user
/// notices a misspelt name.
void BatchWork::took_nothing(const std::string& server, const std::string& why, bool absent) {
  const std::lock_guard lock(mutex_);
  trouble_ = server + ": " + why;
  if (!absent || !absent_.insert(server).second) return;
  std::fprintf(stderr, "%ssyrinx: %s; retrying for up to %g s\n",
               isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "", trouble_.c_str(), options_.patience_s);
}

std::string BatchWork::nobody_takes() const {
  const std::lock_guard lock(mutex_);
  return concat("no server accepted a request for ", options_.patience_s, " s",
                trouble_.empty() ? "" : ": " + trouble_);
}

void BatchWork::note(const BatchItem& item, BatchEntry entry) {
  entry.key = item.key;
  const std::lock_guard lock(mutex_);
  manifest_.add(item.id, std::move(entry));
}

void BatchWork::fail(const BatchItem& item, const std::string& why) {
  note(item, {.fault = why});
  ++failed_, ++done_;
}

/// Writes the file first, then its entry in the manifest.
void BatchWork::keep(const BatchItem& item, const HttpAnswer& answer, const Wav& wav) {
  const std::string name = item.id + "." + ending_;
  NewFile file(join_path(options_.output, name));
  const std::string bytes = format_ == AudioFormat::kWav ? answer.body : encoded(wav, format_);
  file.append(bytes.data(), bytes.size());
  file.commit();
  const double seconds = static_cast<double>(wav.samples.size()) / wav.rate;
  note(item, {.file = name,
              .seconds = seconds,
              .sample_rate_hz = static_cast<int>(wav.rate),
              .finish_reason = answer.finish_reason.empty() ? "stop" : answer.finish_reason});
  double before = audio_s_;
  while (!audio_s_.compare_exchange_weak(before, before + seconds)) {
  }
  ++done_;
}

/// Speaks an item. Returns false when no server accepts requests. With a seed in the item, each try
/// gives the same audio.
bool BatchWork::speak(const BatchItem& item, HttpClient& client) {
  std::string why;
  for (int tries = 0; tries < kTries && !stopped_;) {
    const auto lease = servers_.take(now_s());
    if (!lease) {
      if (now_s() - servers_.last_good_s() > options_.patience_s) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    const HttpAnswer answer = client.post_json(lease->url + "/v1/audio/speech", item.body,
                                               [this] { return stopped_.load(); });
    if (const auto wav = audio_of(answer, item, why)) {
      servers_.give_back(*lease, now_s());
      keep(item, answer, *wav);
      return true;
    }
    if (stopped_) break;
    if (answer.status == 401) {  // the key is invalid for every item
      stop(concat(lease->url, ": ", why, " (--api-key-file, SYRINX_API_KEY)"));
      break;
    }
    // An answer of a busy server (503, 429) or an absent server is not counted as a try.
    const bool later = answer.status == 503 || answer.status == 429;
    const bool never = answer.status >= 400 && answer.status < 500 && !later;
    if (never) {
      servers_.give_back(*lease, now_s());
      break;
    }
    const bool absent = answer.status == 0 || answer.status == 502 || answer.status == 504;
    servers_.failed(*lease, later ? std::clamp(answer.retry_after_s, 0.05, 30.0) : 0, now_s());
    if (!later && !absent) ++tries;
    took_nothing(lease->url, why, absent);
    if (absent) why = lease->url + ": " + why;
    if (now_s() - servers_.last_good_s() > options_.patience_s) return false;
  }
  if (!stopped_) fail(item, why);
  return true;
}

void BatchWork::work() {
  try {
    HttpClient client({.api_key = key_, .timeout_s = options_.timeout_s});
    while (!stopped_) {
      const size_t index = next_++;
      if (index >= items_.size()) return;
      if (!speak(items_[index], client)) {
        stop(nobody_takes());
      }
    }
  } catch (const std::exception& error) {  // probably a full disk
    stop(error.what());
  }
}

std::string BatchWork::progress(double began_s) const {
  const double passed_s = now_s() - began_s, audio_s = audio_s_;
  const size_t done = done_;
  std::string left;
  if (done > 0) {
    const double each_s = passed_s / static_cast<double>(done);
    left = ", " + clock_time(each_s * static_cast<double>(items_.size() - done)) + " left";
  }
  return concat(done, " of ", items_.size(), ", ", failed_.load(), " failed, ", clock_time(audio_s),
                " of audio, ", passed_s > 0 ? std::round(audio_s / passed_s) : 0, " x", left);
}

std::string BatchWork::run() {
  const InterruptGuard interrupted;
  ProgressLine line(!options_.quiet);
  const double began_s = now_s();
  std::atomic<size_t> ended = 0;
  std::vector<std::thread> threads;
  try {
    for (size_t i = 0; i < threads_; ++i) {
      threads.emplace_back([this, &ended] { work(), ++ended; });
    }
  } catch (const std::system_error&) {  // no further thread starts: the existing ones do the work
    if (threads.empty()) throw;
  }
  std::exception_ptr signal;
  while (ended < threads.size()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    line.show(progress(began_s));
    try {
      interrupted.check();
    } catch (const Interrupted&) {
      signal = std::current_exception();
      stop("interrupted");
      break;
    }
  }
  for (std::thread& thread : threads) thread.join();
  line.clear();
  if (signal) std::rethrow_exception(signal);
  return why_;
}

std::string manifest_name(const BatchShard& shard) {
  if (shard.count == 1) return "manifest.jsonl";
  return concat("manifest-", shard.index + 1, "-of-", shard.count, ".jsonl");
}

/// Returns everything that determines the audio of a line, besides the line and the servers' model.
std::string made_by(const BatchOptions& options) {
  const LoadOptions& load = options.load;
  std::string out = concat('\0', options.format);
  if (!options.servers.empty()) return out;
  out += concat('\0', load.model, '\0', load.weights);
  return load.lexicon.empty() ? out : concat(out, '\0', read_text(load.lexicon));
}

/// Removes the temporary files that a killed process left of the files of these items.
void remove_abandoned(const std::string& directory, const std::vector<BatchItem>& items) {
  std::unordered_set<std::string_view> ids;
  for (const BatchItem& item : items) ids.insert(item.id);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string path = entry.path().string(), name = entry.path().filename().string();
    const std::string_view file = std::string_view(name).substr(0, name.rfind(".new-"));
    const bool ours = file.size() < name.size() && ids.contains(file.substr(0, file.rfind('.')));
    if (ours) remove_abandoned_file(path);
  }
}

int run_batch(const BatchOptions& options) {
  const BatchShard shard = options.shard.empty() ? BatchShard{} : read_shard(options.shard);
  std::vector<BatchItem> all =
      read_batch(options.list, request_fields(options.request, options.fields, true), shard);
  const std::string by = made_by(options);
  for (BatchItem& item : all) item.key = fingerprint_of(item.body + by);
  if (mkdir(options.output.c_str(), 0777) != 0 && errno != EEXIST) {
    throw LoadError("cannot make " + options.output + ": " + std::strerror(errno));
  }
  std::vector<std::string> urls;
  for (const std::string& server : options.servers) urls.push_back(base_url(server));
  BatchManifest manifest(join_path(options.output, manifest_name(shard)));
  std::vector<BatchItem> missing;
  size_t failed = 0;
  for (const BatchItem& item : all) {
    const BatchEntry* entry = manifest.find(item);
    const bool settled =
        entry != nullptr &&
        (entry->done() ? is_file(join_path(options.output, entry->file)) : !options.retry_failed);
    if (!settled) missing.push_back(item);
    failed += settled && !entry->done() ? 1 : 0;
  }
  if (missing.size() < all.size() && !options.quiet) {
    std::fprintf(
        stderr, "continuing: %zu of %zu are done%s\n", all.size() - missing.size(), all.size(),
        failed > 0 ? concat(", ", failed, " of them failed (--retry-failed)").c_str() : "");
  }

  remove_abandoned(options.output, missing);
  allow_many_files();
  std::optional<OwnServer> own;
  std::string key = urls.empty() ? random_key() : read_client_key(options.api_key_file);
  const double began_s = now_s();
  double ready_s = 0;
  if (urls.empty() && !missing.empty()) {
    own.emplace(options, key);
    urls.push_back(own->url());
    ready_s = now_s() - began_s;
  }
  std::string why;
  size_t spoken = 0;
  double audio_s = 0;
  if (!missing.empty()) {
    BatchWork batch(options, std::move(missing), manifest, urls, std::move(key));
    why = batch.run();
    spoken = batch.spoken();
    audio_s = batch.audio_s();
  }
  manifest.write_all(all);

  failed = 0;
  size_t cut_short = 0, undone = 0;
  const BatchItem* first_failed = nullptr;
  for (const BatchItem& item : all) {
    const BatchEntry* entry = manifest.find(item);
    if (entry == nullptr) {
      ++undone;
    } else if (!entry->done()) {
      if (failed++ == 0) first_failed = &item;
    } else if (entry->cut_short()) {
      ++cut_short;
    }
  }
  const double took_s = now_s() - began_s - ready_s;
  if (!options.quiet) {
    std::printf("%zu of %zu spoken in %s, %s of audio, %.1f s of audio per second: %s\n", spoken,
                all.size(), clock_time(took_s).c_str(), clock_time(audio_s).c_str(),
                took_s > 0 ? audio_s / took_s : 0, options.output.c_str());
  }
  if (!why.empty()) std::fprintf(stderr, "syrinx: %s; %zu are not done\n", why.c_str(), undone);
  if (failed > 0) {
    std::fprintf(
        stderr,
        "syrinx: %zu failed, the first is '%s': %s; the manifest lists all, --retry-failed "
        "tries again\n",
        failed, first_failed->id.c_str(), manifest.find(*first_failed)->fault.c_str());
  }
  if (failed > 0 || undone > 0) return kExitFailed;
  if (cut_short == 0) return kExitOk;
  std::fprintf(stderr, "syrinx: %zu texts reached a length limit before their end\n", cut_short);
  return kExitIncomplete;
}

}  // namespace

void add_batch(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<BatchOptions>();
  BatchOptions& batch = *options;
  CLI::App* sub = app.add_subcommand("batch", "Speak a list of texts, each into a separate file");
  sub->add_option("list", batch.list,
                  "JSON Lines: 'text' or 'input', an 'id', and further fields of a speech request; "
                  "'-' is the standard input")
      ->required();
  sub->add_option("-o,--output", batch.output, "directory of the files and of manifest.jsonl")
      ->required();
  sub->add_option("-s,--server", batch.servers,
                  "http://host:port of a server that speaks; may be repeated. By default an engine "
                  "in this process speaks");
  sub->add_option("-j,--jobs", batch.jobs, "simultaneous requests to each server")
      ->check(between(1, 4096))
      ->capture_default_str();
  sub->add_option(
      "--shard", batch.shard,
      "2/8: only the second of eight parts of the list; each part has its own manifest");
  sub->add_option("--extra", batch.fields,
                  "a JSON object: fields for lines that lack them; options below set fields, too");
  add_format(*sub, batch.format, "default: wav");
  sub->add_flag("--retry-failed", batch.retry_failed, "repeat texts that failed before");
  sub->add_option(
      "--api-key-file", batch.api_key_file,
      "file whose first line is the servers' key (or set SYRINX_API_KEY or OPENAI_API_KEY)");
  sub->add_option("--timeout", batch.timeout_s, "most seconds of a whole request")
      ->check(above(0))
      ->capture_default_str();
  sub->add_option("--patience", batch.patience_s,
                  "the command ends after this many seconds without a server that accepts requests")
      ->check(above(0))
      ->capture_default_str();
  sub->add_flag("-q,--quiet", batch.quiet, "print no progress and no summary");
  add_store(*sub, batch.voice_store);
  add_request(*sub, batch.request);
  add_model(*sub, batch.load);
  // This command has no listener, so it uses large engine batches, and a seat for each request.
  batch.load.engine.policy = "throughput";
  batch.load.engine.max_requests = 1'000'000;
  batch.load.engine.max_wait_s = 1e9;
  sub->add_option("--max-batch", batch.load.engine.max_batch, "most texts in one step")
      ->check(between(1, 4096))
      ->capture_default_str();
  sub->footer(
      "After an interruption the same command continues; lines that have changed are spoken "
      "again.\n\n"
      "Examples:\n"
      "  syrinx batch texts.jsonl -o audio/\n"
      "  syrinx batch texts.jsonl -o audio/ --server http://a:8080 --server http://b:8080\n"
      "  syrinx batch texts.jsonl -o audio/ --shard 2/8 --extra '{\"voice\": \"raven\"}'\n\n"
      "Exit codes: 0 all spoken, 1 some failed or are not done, 3 all spoken, but some reached a "
      "length limit.");
  sub->callback([&chosen, options] {
    if (options->quiet) options->load.progress = nullptr;
    chosen = [options] { return run_batch(*options); };
  });
}

}  // namespace syrinx
