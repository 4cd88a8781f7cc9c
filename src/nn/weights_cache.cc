#include "nn/weights_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "io/abandoned.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "syrinx-weights1";  // the digit increases when the layout changes
static_assert(sizeof(kMagic) == sizeof(WeightsCache::Header::magic));
constexpr uint64_t kAlign = 64, kMostMatrices = 1 << 20;
constexpr size_t kSummed = offsetof(WeightsCache::Header, sum);

WeightsCache::Header header_of(const std::string& key) {
  WeightsCache::Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(header.key, key.data(), std::min(key.size(), sizeof(header.key)));
  return header;
}

/// Returns whether this user or root owns the file and not all users may write it.
bool is_ours(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  return (info.st_uid == ::geteuid() || info.st_uid == 0) && (info.st_mode & S_IWOTH) == 0;
}

int64_t free_bytes(const std::string& path) {
  std::error_code none;
  const fs::space_info space = fs::space(fs::path(path).parent_path(), none);
  return none ? 0 : static_cast<int64_t>(std::min<uintmax_t>(space.available, INT64_MAX));
}

}  // namespace

uint64_t checksum(const void* data, size_t bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  constexpr size_t kLanes = 8;
  const auto mixed = [](uint64_t sum, uint64_t word) {
    return std::rotl((sum ^ word) * kFactor, 29);
  };
  const auto* at = static_cast<const char*>(data);
  uint64_t lanes[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8}, words[kLanes];
  size_t left = bytes;
  for (; left >= sizeof words; at += sizeof words, left -= sizeof words) {
    std::memcpy(words, at, sizeof words);
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], words[i]);
  }
  std::memset(words, 0, sizeof words);
  if (left > 0) std::memcpy(words, at, left);
  uint64_t sum = bytes;
  for (size_t i = 0; i < kLanes; ++i) sum = mixed(sum, mixed(lanes[i], words[i]));
  return sum;
}

std::string default_weights_cache() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  // The variable may have several directories, separated by colons.
  const std::string service = variable("CACHE_DIRECTORY");
  if (service.starts_with('/')) return join_path(service.substr(0, service.find(':')), "weights");
  const std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.starts_with('/')) return join_path(cache, "syrinx/weights");
  return home.starts_with('/') ? join_path(home, ".cache/syrinx/weights") : "";
}

WeightsCache::WeightsCache(WeightsCacheOptions options)
    : options_(std::move(options)), chance_(std::random_device{}()) {
  SYRINX_CHECK(options_.path.ends_with(kSuffix) && options_.key.size() <= sizeof(Header::key),
               "invalid path or key of the weights cache ", options_.path);
  if (!is_file(options_.path)) return;
  try {
    open();
  } catch (const LoadError& error) {
    file_ = nullptr;
    table_.clear();
    say(concat(error.what(), "; weights are packed again"));
  }
}

void WeightsCache::say(const std::string& what) const {
  if (options_.say) options_.say(what);
}

void WeightsCache::open() {
  const std::string& path = options_.path;
  if (!is_ours(path)) load_fault(path, "", "belongs to another user, or all users may write it");
  file_ = MappedFile::open(path);
  const std::span<const std::byte> bytes = file_->bytes();
  Header header;
  if (bytes.size() < sizeof header) load_fault(path, "", "is cut short");
  std::memcpy(&header, bytes.data(), sizeof header);
  const Header want = header_of(options_.key);
  if (std::memcmp(&header, &want, sizeof header.magic) != 0 ||
      header.sum != checksum(&header, kSummed)) {
    load_fault(path, "", "is damaged, or not a cache of weights of this version");
  }
  if (std::memcmp(header.key, want.key, sizeof header.key) != 0) {
    load_fault(path, "", "was made from other weights");
  }
  if (header.matrices > kMostMatrices || header.table_at > bytes.size() ||
      bytes.size() - header.table_at != header.matrices * sizeof(Entry)) {
    load_fault(path, "", "is cut short");
  }
  table_.resize(header.matrices);
  if (!table_.empty()) {
    std::memcpy(table_.data(), bytes.data() + header.table_at, table_.size() * sizeof(Entry));
  }
  if (checksum(table_.data(), table_.size() * sizeof(Entry)) != header.table_sum) {
    load_fault(path, "", "its table is damaged");
  }
  for (const Entry& entry : table_) {
    if (entry.at % kAlign != 0 || entry.at > header.table_at ||
        entry.bytes > header.table_at - entry.at) {
      load_fault(path, "", "its table has a wrong entry");
    }
  }
}

/// Returns why an entry does not match `matrix`. Returns "" if it matches.
std::string WeightsCache::fault_of(const Entry& entry, const PackedMatrix& matrix,
                                   MakePanels make) const {
  const int64_t panel_bytes = matrix.panel_bytes(), bytes = matrix.panels() * panel_bytes;
  if (entry.type != static_cast<int64_t>(matrix.type) || entry.out != matrix.out ||
      entry.k != matrix.k || entry.bytes != static_cast<uint64_t>(bytes)) {
    return "has another type or size";
  }
  const std::byte* data = file_->bytes().data() + entry.at;
  if (checksum(data, entry.bytes) != entry.sum) return "is damaged";
  const uint64_t chance = checksum(&next_, sizeof next_) + chance_;
  const auto p = static_cast<int64_t>(chance % static_cast<uint64_t>(matrix.panels()));
  std::vector<uint8_t> fresh(static_cast<size_t>(panel_bytes));
  make(p, p + 1, fresh.data());
  if (std::memcmp(fresh.data(), data + p * panel_bytes, fresh.size()) != 0) {
    return "was not made from these weights";
  }
  return {};
}

Tensor WeightsCache::find(const PackedMatrix& matrix, MakePanels make) {
  if (!file_) return {};
  const bool more = next_ < table_.size();
  const std::string fault = more ? fault_of(table_[next_], matrix, make) : "is missing";
  if (fault.empty()) {
    const Entry& entry = table_[next_++];
    View view{const_cast<std::byte*>(file_->bytes().data()) + entry.at, DType::kU8,
              Shape{static_cast<int64_t>(entry.bytes)}};
    if (!options_.copied) return Tensor(view, file_);
    Tensor own(view.shape, view.dtype);
    std::memcpy(own.view().data, view.data, view.bytes());
    return own;
  }
  say(concat(options_.path, ": matrix ", next_, " ", fault, "; weights are packed again"));
  // Copies to the new file all matrices that were valid.
  const std::shared_ptr<const MappedFile> old = std::exchange(file_, nullptr);
  for (size_t i = 0; i < next_; ++i) append(table_[i], old->bytes().data() + table_[i].at);
  return {};
}

void WeightsCache::keep(const PackedMatrix& matrix, const View& data) {
  append({static_cast<int64_t>(matrix.type), matrix.out, matrix.k, 0, data.bytes(),
          checksum(data.data, data.bytes())},
         data.data);
}

void WeightsCache::begin_file() {
  const fs::path directory = fs::path(options_.path).parent_path();
  std::error_code error;
  if (fs::create_directories(directory, error)) {
    fs::permissions(directory, fs::perms::owner_all, error);
  }
  if (error) load_fault(directory.string(), "", "cannot create it: " + error.message());
  make_room(0);  // removes large temporary files of interrupted starts
  // NewFile would otherwise copy the permissions of the old file.
  if (!is_ours(options_.path)) fs::remove(options_.path, error);
  new_file_ = std::make_unique<NewFile>(options_.path);
  const Header header = header_of(options_.key);
  new_file_->append(&header, sizeof header);
}

void WeightsCache::append(Entry entry, const void* data) {
  if (given_up_) return;
  try {
    if (!new_file_) begin_file();
    const uint64_t size = new_file_->size() + entry.bytes;
    if (size > static_cast<uint64_t>(options_.most_bytes)) {
      load_fault(options_.path, "", concat("would exceed ", options_.most_bytes >> 20, " MiB"));
    }
    if (free_bytes(options_.path) < options_.leave_free + static_cast<int64_t>(entry.bytes)) {
      load_fault(options_.path, "", "the disk is nearly full");
    }
    constexpr char kZeros[kAlign] = {};
    new_file_->append(kZeros, (kAlign - new_file_->size() % kAlign) % kAlign);
    entry.at = new_file_->size();
    new_file_->append(data, entry.bytes);
    new_table_.push_back(entry);
  } catch (const LoadError& error) {
    say(concat(error.what(), "; packed weights are not stored"));
    new_file_.reset();
    given_up_ = true;
  }
}

/// Removes temporary files of ended writers and files unused for `unused_for`, then the files
/// unused for longest, until `bytes` more fit.
void WeightsCache::make_room(int64_t bytes) const {
  struct Old {
    fs::file_time_type used;
    fs::path path;
    int64_t bytes;
  };
  std::vector<Old> files;
  int64_t all = bytes;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& file : fs::directory_iterator(fs::path(options_.path).parent_path(), error)) {
    const std::string name = file.path().filename().string();
    std::error_code gone;
    const fs::file_time_type used = file.last_write_time(gone);
    const auto size = static_cast<int64_t>(file.is_regular_file(gone) ? file.file_size(gone) : 0);
    if (gone || file.path() == options_.path) continue;
    if (name.find(std::string(kSuffix) + ".new-") != std::string::npos) {
      if (now - used > std::chrono::minutes(1)) remove_abandoned_file(file.path());
    } else if (name.ends_with(kSuffix) && now - used > options_.unused_for) {
      fs::remove(file.path(), gone);
    } else if (name.ends_with(kSuffix)) {
      files.push_back({used, file.path(), size});
      all += size;
    }
  }
  std::sort(files.begin(), files.end(), [](const Old& a, const Old& b) { return a.used < b.used; });
  for (size_t i = 0; i < files.size() && all > options_.most_bytes; ++i) {
    std::error_code gone;
    if (fs::remove(files[i].path, gone)) all -= files[i].bytes;
  }
}

void WeightsCache::finish() {
  if (file_) {
    std::error_code read_only;
    fs::last_write_time(options_.path, fs::file_time_type::clock::now(), read_only);
    make_room(0);
  }
  if (!new_file_) return;
  try {
    Header header = header_of(options_.key);
    header.matrices = new_table_.size();
    header.table_at = new_file_->size();
    const size_t table_bytes = new_table_.size() * sizeof(Entry);
    header.table_sum = checksum(new_table_.data(), table_bytes);
    header.sum = checksum(&header, kSummed);
    new_file_->append(new_table_.data(), table_bytes);
    new_file_->overwrite(0, &header, sizeof header);
    make_room(static_cast<int64_t>(new_file_->size()));
    // Does not wait until gigabytes are on the disk, because this takes long. Checksums detect
    // missing data.
    new_file_->commit(false);
  } catch (const LoadError& error) {
    say(concat(error.what(), "; packed weights are not stored"));
  }
  new_file_.reset();
}

}  // namespace syrinx
