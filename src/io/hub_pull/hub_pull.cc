#include "io/hub_pull/hub_pull.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "io/hub.h"
#include "io/hub_pull/transfer.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxListBytes = size_t{32} << 20;
constexpr size_t kMaxFiles = 10'000;
constexpr int64_t kMaxFileBytes = int64_t{1} << 40;
constexpr double kMaxPauseS = 60;

struct HubFile {
  std::string path;
  int64_t size = 0;
  std::string hash;     ///< SHA-256 of the content, or Git's SHA-1 of its blob
  bool sha256 = false;  ///< `hash` is the SHA-256
};

class Digest {
 public:
  explicit Digest(const HubFile& file) : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), file.sha256 ? EVP_sha256() : EVP_sha1(), nullptr);
    if (!file.sha256) {
      const std::string header = concat("blob ", file.size);
      add({header.c_str(), header.size() + 1});  // includes the terminating zero byte
    }
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), raw, &size);
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
      out += "0123456789abcdef"[raw[i] >> 4];
      out += "0123456789abcdef"[raw[i] & 15];
    }
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

bool is_hash(const std::string& text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// Returns whether a relative path stays below the folder to which it is joined.
bool is_inside(const std::string& path) {
  if (path.empty() || path.size() > 1024 || path.front() == '/') return false;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '\\'; });
}

std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::strchr("/-_.~", c) != nullptr;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

/// Returns the licence in a model's card; empty if the card has none. A card is untrusted text.
std::string licence_of(const nlohmann::json& model) {
  const auto card = model.find("cardData");
  if (card == model.end() || !card->is_object()) return "";
  for (const char* name : {"license_name", "license"}) {
    const auto field = card->find(name);
    if (field == card->end() || !field->is_string()) continue;
    const std::string text = field->get<std::string>();
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (plain && !text.empty() && text.size() <= 64) return text;
  }
  return "";
}

/// Locks the model's folder against other processes.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) : fd_(open(path.c_str(), O_CREAT | O_RDWR, 0644)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const std::string why = fd_ >= 0 && errno == EWOULDBLOCK
                                  ? "another download of this model is running"
                                  : std::strerror(errno);
      if (fd_ >= 0) close(fd_);
      throw LoadError(path + ": " + why);
    }
  }
  ~FolderLock() { close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

class Pull {
 public:
  Pull(const std::string& model, const PullOptions& options)
      : options_(options), model_(model), name_(parse_hub_name(model)), net_(options.token) {
    if (name_.organisation.empty()) {
      throw LoadError(concat("model ", shown(model),
                             " is not a name of the form Org/Name or Org/Name@revision"));
    }
    if (options.cache.empty()) throw LoadError("no cache is known: set HF_HOME or HOME");
    folder_ = hub_folder(options.cache, name_);
    if (name_.revision.empty()) name_.revision = "main";
  }

  std::string run();

 private:
  void list();
  HubFile listed_file(const nlohmann::json& entry) const;
  void announce() const;
  bool is_here(const HubFile& file) const;
  std::string blob(const HubFile& file) const { return folder_ + "/blobs/" + file.hash; }
  LoadError bad_list(const std::string& what) const {
    return LoadError(concat("model ", shown(model_), ": the hub's list of files ", what));
  }
  void fetch(const HubFile& file);
  void fetch_blob(const HubFile& file);
  TransferResult attempt(const HubFile& file, const std::string& partial);
  void check(const HubFile& file, const std::string& partial);
  /// Runs `task` until it succeeds, fails permanently or has used all retries. Before the first
  /// success, an unreachable hub is a permanent failure; after it, the network may return.
  template <typename Task>
  void persist(const std::string& what, Task task);
  [[noreturn]] void fail(const std::string& what, const TransferResult& result) const;
  std::string repo() const { return name_.organisation + "/" + name_.name; }
  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  const PullOptions& options_;
  const std::string model_;
  HubName name_;
  Transfer net_;
  std::string folder_, commit_;
  std::string licence_;  // licence that the hub states
  bool gated_ = false;   // the hub requires an account that accepted the terms
  bool reached_ = false;
  std::vector<HubFile> files_;
};

void Pull::fail(const std::string& what, const TransferResult& result) const {
  std::string why = result.trouble;
  if (why.empty()) why = concat("the hub answers ", result.status);
  if (result.status == 401 || result.status == 403) why += " (does it need HF_TOKEN?)";
  throw LoadError(concat("model ", shown(model_), ": ", what, ": ", why));
}

template <typename Task>
void Pull::persist(const std::string& what, Task task) {
  double pause_s = options_.pause_s;
  for (int tries = 0;; ++tries) {
    const TransferResult result = task();
    if (result.ok()) {
      reached_ = true;
      return;
    }
    if (!reached_ && result.unreachable) fail(what, result);
    if (!result.transient() || tries >= options_.retries) fail(what, result);
    const double wait_s = std::min(kMaxPauseS, std::max(pause_s, result.retry_after_s));
    log(concat(what, ": ",
               result.trouble.empty() ? concat("the hub answers ", result.status) : result.trouble,
               "; trying again"));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    pause_s *= 2;
  }
}

void Pull::list() {
  const std::string url = concat(options_.endpoint, "/api/models/", repo(), "/revision/",
                                 escaped(name_.revision), "?blobs=true");
  std::string body;
  persist("the list of files", [&] {
    body.clear();
    return net_.get(url, 0, [&](std::string_view bytes) {
      body += bytes;
      return body.size() <= kMaxListBytes;
    });
  });
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("siblings") || !json["siblings"].is_array()) {
    throw bad_list("has an unexpected format");
  }
  commit_ = json.value("sha", "");
  if (!is_hash(commit_, 40)) throw bad_list("names no commit");
  if (json["siblings"].size() > kMaxFiles) throw bad_list("is too long");
  const auto gated = json.find("gated");
  gated_ = gated != json.end() && !gated->is_null() && *gated != false;
  licence_ = licence_of(json);
  for (const auto& entry : json["siblings"]) {
    HubFile file = listed_file(entry);
    const auto& patterns = options_.include;
    const bool wanted = patterns.empty() ||
                        std::any_of(patterns.begin(), patterns.end(), [&](const std::string& each) {
                          return fnmatch(each.c_str(), file.path.c_str(), 0) == 0;
                        });
    if (wanted) files_.push_back(std::move(file));
  }
  if (files_.empty()) throw bad_list("has none of the requested files");
}

HubFile Pull::listed_file(const nlohmann::json& entry) const {
  if (!entry.is_object()) throw bad_list("has an unexpected format");
  HubFile file;
  file.path = entry.value("rfilename", "");
  const auto lfs = entry.find("lfs");
  file.sha256 = lfs != entry.end() && lfs->is_object();
  file.hash = file.sha256 ? lfs->value("sha256", "") : entry.value("blobId", "");
  file.size = file.sha256 ? lfs->value("size", int64_t{-1}) : entry.value("size", int64_t{-1});
  if (!is_inside(file.path)) throw bad_list("has the path " + shown(file.path));
  if (!is_hash(file.hash, file.sha256 ? 64 : 40) || file.size < 0 || file.size > kMaxFileBytes) {
    throw bad_list("has no hash or size for " + shown(file.path));
  }
  return file;
}

/// Returns whether the cache has the whole file. A file that a power cut truncated is not whole.
bool Pull::is_here(const HubFile& file) const {
  std::error_code none;
  return is_file(blob(file)) &&
         fs::file_size(blob(file), none) == static_cast<uintmax_t>(file.size);
}

/// Reports size and licence; throws LoadError if the download cannot succeed.
void Pull::announce() const {
  uint64_t all = 0, here = 0;
  for (const HubFile& file : files_) {
    const auto size = static_cast<uint64_t>(file.size);
    all += size;
    if (is_here(file)) here += size;
  }
  const std::string licence = licence_.empty() ? options_.licence : licence_;
  log(concat(repo(), ": ", files_.size(), files_.size() == 1 ? " file, " : " files, ",
             size_text(all), here > 0 ? ", " + size_text(here) + " already downloaded" : "",
             "; licence ", licence.empty() ? "not stated" : licence));
  if (here == all) return;
  if (gated_ && options_.token.empty()) {
    throw LoadError(concat("model ", shown(model_),
                           ": its authors require that you accept their terms: ", "accept them at ",
                           options_.endpoint, "/", repo(), " and set HF_TOKEN"));
  }
  fs::path place = folder_;
  while (!fs::exists(place) && place.has_parent_path()) place = place.parent_path();
  std::error_code unknown;
  const fs::space_info space = fs::space(place, unknown);
  if (!unknown && space.available < all - here) {
    throw LoadError(concat("model ", shown(model_), ": needs ", size_text(all - here),
                           " more, but the disk of ", place.string(), " has only ",
                           size_text(space.available)));
  }
}

std::string Pull::run() {
  list();
  announce();
  const std::string snapshot = folder_ + "/snapshots/" + commit_;
  if (options_.dry_run) return snapshot;
  for (const std::string& each : {folder_ + "/blobs", snapshot}) fs::create_directories(each);
  const FolderLock lock(folder_ + "/.pull.lock");
  for (const HubFile& file : files_) fetch(file);
  const std::string ref = folder_ + "/refs/" + name_.revision;
  if (name_.revision != commit_) {
    fs::create_directories(fs::path(ref).parent_path());
    NewFile out(ref);
    out.append(commit_.data(), commit_.size());
    out.commit();
  }
  return snapshot;
}

void Pull::fetch(const HubFile& file) {
  const fs::path link = fs::path(folder_) / "snapshots" / commit_ / file.path;
  if (is_here(file)) {
    log(concat(file.path, ": already complete"));
  } else {
    fetch_blob(file);
  }
  fs::create_directories(link.parent_path());
  if (fs::is_symlink(fs::symlink_status(link))) fs::remove(link);
  if (fs::exists(link)) return;  // a cache without links has copies of the files
  fs::create_symlink(fs::relative(blob(file), link.parent_path()), link);
}

void Pull::fetch_blob(const HubFile& file) {
  const std::string partial = blob(file) + ".incomplete";
  log(concat(file.path, ": ", size_text(static_cast<uint64_t>(file.size))));
  persist(file.path, [&] { return attempt(file, partial); });
  check(file, partial);
  fs::rename(partial, blob(file));
}

TransferResult Pull::attempt(const HubFile& file, const std::string& partial) {
  std::error_code none;
  int64_t have = fs::exists(partial) ? static_cast<int64_t>(fs::file_size(partial, none)) : 0;
  if (have > file.size) fs::remove(partial), have = 0;
  if (have == file.size && have > 0) return {.status = 200, .trouble = {}};
  if (have > 0)
    log(concat(file.path, ": continuing after ", size_text(static_cast<uint64_t>(have))));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(
      std::fopen(partial.c_str(), have > 0 ? "ab" : "wb"), std::fclose);
  if (!out) throw LoadError(partial + ": " + std::strerror(errno));
  if (file.size == 0) return {.status = 200, .trouble = {}};
  bool too_long = false;
  int disk_fault = 0;  // errno of a failed write
  TransferResult result = net_.get(
      concat(options_.endpoint, "/", repo(), "/resolve/", commit_, "/", escaped(file.path)), have,
      [&](std::string_view bytes) {
        have += static_cast<int64_t>(bytes.size());
        too_long = have > file.size;
        if (too_long) return false;
        if (std::fwrite(bytes.data(), 1, bytes.size(), out.get()) != bytes.size()) {
          disk_fault = errno;
        }
        if (options_.progress) options_.progress(file.path, have, file.size);
        return disk_fault == 0;
      });
  if (disk_fault == 0 && std::fflush(out.get()) != 0) disk_fault = errno;
  if (disk_fault != 0) throw LoadError(partial + ": " + std::strerror(disk_fault));
  if (too_long || result.cannot_continue) {
    fs::remove(partial);  // the next attempt starts from zero
    if (too_long) result.trouble = "more bytes than in the hub's list";
  } else if (result.ok() && have < file.size) {
    result.trouble = "the transfer ended early";
  }
  return result;
}

void Pull::check(const HubFile& file, const std::string& partial) {
  Digest digest(file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(partial.c_str(), "rb"),
                                                           std::fclose);
  if (!in) throw LoadError(partial + ": " + std::strerror(errno));
  std::vector<char> buffer(size_t{1} << 20);
  for (size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), in.get())) > 0;) {
    digest.add({buffer.data(), got});
  }
  if (const std::string hash = digest.hex(); hash != file.hash) {
    fs::remove(partial);
    throw LoadError(concat("model ", shown(model_), ": ", file.path,
                           ": the hash differs from the hub's list: expected ", file.hash, ", got ",
                           hash));
  }
  // Renames a file only after its contents are on disk, so that it is whole even after a power cut.
  if (::fdatasync(fileno(in.get())) != 0) throw LoadError(partial + ": " + std::strerror(errno));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string hub_endpoint() {
  std::string endpoint = environment("HF_ENDPOINT");
  while (!endpoint.empty() && endpoint.back() == '/') endpoint.pop_back();
  return endpoint.empty() ? "https://huggingface.co" : endpoint;
}

std::string hub_token() {
  if (const std::string token = environment("HF_TOKEN"); !token.empty()) return token;
  std::string path = environment("HF_TOKEN_PATH");
  if (path.empty()) {  // chosen as by the hub's own tools
    std::string home = environment("HF_HOME"), cache = environment("XDG_CACHE_HOME");
    if (cache.empty()) cache = environment("HOME") + "/.cache";
    if (home.empty()) home = cache + "/huggingface";
    path = home + "/token";
  }
  if (!is_file(path)) return "";
  std::string token = read_file(path, 4096);
  token.erase(token.find_last_not_of(" \r\n\t") + 1);
  return token;
}

std::string pull_model(const std::string& model, const PullOptions& options) try {
  return Pull(model, options).run();
} catch (const fs::filesystem_error& error) {
  throw LoadError(error.what());
} catch (const nlohmann::json::exception& error) {
  throw LoadError(concat("model ", shown(model), ": the hub's list of files: ", error.what()));
}

}  // namespace syrinx
