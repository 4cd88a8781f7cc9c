#include "io/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Opens a regular file for reading and sets `size`; throws LoadError for other files.
int open_regular(const std::string& path, uint64_t& size) {
  // O_NONBLOCK, because opening a pipe without a writer would otherwise wait forever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) load_fault(path, "", std::string("cannot open: ") + std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    load_fault(path, "", "expected a regular file");
  }
  size = static_cast<uint64_t>(info.st_size);
  return fd;
}

/// Follows links, even to a file that does not exist yet. Stops at a link to a pipe or a device,
/// because a pipe behind /dev/stdout has no other path.
std::string behind_links(std::string path) {
  struct stat info {};
  for (int links = 0; links < 40; ++links) {
    std::error_code none;
    const fs::path to = fs::read_symlink(path, none);
    if (none || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))) break;
    path = (fs::path(path).parent_path() / to).string();
  }
  return path;
}

/// Returns the beginning of a temporary file's name: `path`, cut between characters to leave room
/// for a suffix.
std::string beginning_of(const std::string& path) {
  constexpr size_t kMost = 200;  // most bytes; a file's name may have 255
  const size_t name = path.rfind('/') + 1;
  if (path.size() - name <= kMost) return path;
  size_t end = name + kMost;
  while (end > name && (static_cast<unsigned char>(path[end]) & 0xc0) == 0x80) --end;
  return path.substr(0, end);
}

/// Returns whether this process may replace `old`. In a directory like /tmp, only the owner of the
/// file or of the directory may replace it.
bool may_replace(const std::string& path, const struct stat& old) {
  struct stat above {};
  const std::string directory = fs::path(path).parent_path().string();
  if (::stat(directory.empty() ? "." : directory.c_str(), &above) != 0) return true;
  const uid_t we = ::geteuid();
  return (above.st_mode & S_ISVTX) == 0 || we == 0 || we == old.st_uid || we == above.st_uid;
}

/// Gives the new file the owner, group and permissions of the old one.
void take_rights(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  // If neither owner nor group can be kept, the new file has another group. This group gets only
  // the rights of other users.
  if (::fchown(fd, old.st_uid, old.st_gid) != 0 &&
      ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    mode = (mode & ~mode_t{070}) | (mode & 07) << 3;
  }
  ::fchmod(fd, mode);
}

}  // namespace

std::string shown(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      constexpr const char* kHex = "0123456789abcdef";
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (text.size() <= limit) return out;
  return out + concat("... (", text.size(), " bytes)");
}

std::string size_text(uint64_t bytes) {
  if (bytes < 1 << 10) return concat(bytes, " bytes");
  char out[32];
  const auto value = static_cast<double>(bytes);
  if (bytes >= uint64_t{1} << 30) {
    std::snprintf(out, sizeof out, "%.2f GiB", value / (1 << 30));
  } else if (bytes >= uint64_t{1} << 20) {
    std::snprintf(out, sizeof out, "%.1f MiB", value / (1 << 20));
  } else {
    std::snprintf(out, sizeof out, "%.1f KiB", value / (1 << 10));
  }
  return out;
}

void load_fault(const std::string& path, const std::string& entry, const std::string& what) {
  throw LoadError(path + ": " + (entry.empty() ? "" : entry + ": ") + what);
}

std::string read_file(const std::string& path, size_t limit) {
  uint64_t size = 0;
  const Descriptor fd(open_regular(path, size));
  if (size > limit) load_fault(path, "", concat("expected at most ", limit, " bytes, got ", size));
  std::string text(size, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) load_fault(path, "", std::string("cannot read: ") + std::strerror(errno));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string join_path(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.back() == '/' ? directory + name : directory + "/" + name;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  uint64_t size = 0;
  const Descriptor fd(open_regular(path, size));
  const std::byte* data = nullptr;
  if (size > 0) {
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped == MAP_FAILED)
      load_fault(path, "", std::string("cannot map: ") + std::strerror(errno));
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

std::shared_ptr<const MappedFile> MappedFile::read(const std::string& path) {
  const FileStamp before = file_stamp(path);
  uint64_t size = 0;
  const Descriptor fd(open_regular(path, size));
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, nullptr, 0));
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) load_fault(path, "", std::string("cannot map: ") + strerror(errno));
  auto* bytes = static_cast<std::byte*>(memory);
  std::shared_ptr<const MappedFile> out(new MappedFile(path, bytes, size));
  for (uint64_t have = 0; have < size;) {
    const ssize_t got = ::read(fd.get(), bytes + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) load_fault(path, "", std::string("cannot read: ") + std::strerror(errno));
    if (got == 0) load_fault(path, "", "was truncated while it was read");
    have += static_cast<uint64_t>(got);
  }
  if (file_stamp(path) != before) load_fault(path, "", "was replaced while it was read");
  return out;
}

FileStamp file_stamp(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  const auto ns = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), ns(info.st_mtim),
          ns(info.st_ctim)};
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

namespace {

/// Locks a new file. Returns false if the file was removed before.
bool lock_existing(int fd) {
  while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(behind_links(path)) {
  struct stat old {};
  const bool there = ::stat(path_.c_str(), &old) == 0;
  if (!there && errno != ENOENT) fail("create");
  if (there && !S_ISREG(old.st_mode)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail("write");
    return;
  }
  if (there && !may_replace(path_, old)) {
    errno = EPERM;
    fail("replace");
  }
  // Each writer has its own temporary file, so that two writers of one path do not mix. The last
  // commit replaces earlier ones.
  for (int attempt = 0; attempt < 1000 && fd_ < 0; ++attempt) {
    temporary_ = concat(beginning_of(path_), ".new-", ::getpid(), "-", attempt);
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, there ? 0600 : 0666);
    if (fd_ < 0 && errno != EEXIST) break;
    // remove_abandoned_file() skips a locked file. It may have locked and removed this one before.
    if (fd_ >= 0 && !lock_existing(fd_)) ::close(std::exchange(fd_, -1));
  }
  if (fd_ < 0) fail("create");
  if (there) take_rights(fd_, old);
}

NewFile::~NewFile() {
  if (!in_place()) ::unlink(temporary_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

void NewFile::fail(const char* doing) const {
  load_fault(path_, "", concat("cannot ", doing, ": ", std::strerror(errno)));
}

void NewFile::append(const void* data, size_t size) {
  put(size_, data, size);
  size_ += size;
}

void NewFile::overwrite(uint64_t offset, const void* data, size_t size) {
  SYRINX_CHECK(offset <= size_, "file ", path_);
  if (!in_place()) put(offset, data, size);
}

void NewFile::put(uint64_t offset, const void* data, size_t size) {
  SYRINX_CHECK(fd_ >= 0, "file ", path_);
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done =
        in_place() ? ::write(fd_, at, size) : ::pwrite(fd_, at, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    at += done, offset += static_cast<uint64_t>(done), size -= static_cast<size_t>(done);
  }
}

void NewFile::append_part_of(const NewFile& other, uint64_t begin, uint64_t end) {
  SYRINX_CHECK(begin <= end && end <= other.size_, "invalid part of ", other.path_);
  std::vector<char> part(std::min<uint64_t>(1u << 20, end - begin));
  for (uint64_t at = begin; at < end;) {
    const size_t want = std::min<uint64_t>(part.size(), end - at);
    const ssize_t got = ::pread(other.fd_, part.data(), want, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read back");
    append(part.data(), static_cast<size_t>(got));
    at += static_cast<uint64_t>(got);
  }
}

void NewFile::commit(bool durable) {
  SYRINX_CHECK(fd_ >= 0, "file ", path_, " is committed already");
  // Without fdatasync(), a power cut could leave the name without the contents.
  if (durable && !in_place() && ::fdatasync(fd_) != 0) fail("write");
  // NFS reports a full disk when a descriptor is closed. The other one keeps the lock, until the
  // file has its name.
  const int closed = in_place() ? std::exchange(fd_, -1) : ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (closed < 0 || ::close(closed) != 0) fail("write");
  if (!in_place() && ::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  temporary_.clear();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

namespace {

/// While this object exists, this thread blocks the signals that interrupt the program, so that the
/// temporary file is always removed.
class InterruptsWait {
 public:
  InterruptsWait() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~InterruptsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  InterruptsWait(const InterruptsWait&) = delete;
  InterruptsWait& operator=(const InterruptsWait&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

void need_writable(const std::string& path) {
  const InterruptsWait until_it_is_gone;
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode)) load_fault(path, "", "cannot write: it is a directory");
  // Does not test a pipe, because opening and closing it would end its reader's input.
  if (!there || S_ISREG(info.st_mode)) const NewFile probe(path);
}

}  // namespace syrinx
