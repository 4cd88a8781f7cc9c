#include "io/zip_archive.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocator64Mark = 0x07064b50;
constexpr uint32_t kDirectoryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kDirectoryBytes = 46, kLocalBytes = 30;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint16_t kZip64Extra = 1, kDeflate = 8;
constexpr uint32_t kSeeZip64 = 0xffffffff;

/// Reads numbers of a file by offset. An offset outside the file is a fault.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <typename T>
  T at(uint64_t offset) const {
    need(offset, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(uint64_t offset, uint64_t size) const {
    need(offset, size);
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }
  void need(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      fail(concat("expected ", size, " bytes at ", offset, ", the file has ", bytes_.size(),
                  " (truncated?)"));
  }
  [[noreturn]] void fail(const std::string& what) const { load_fault(path_, "zip", what); }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& path_;
};

/// Returns the offset of the end record. Searches backwards over the longest possible comment.
uint64_t find_end(const Reader& in) {
  if (in.size() >= kEndBytes) {
    const uint64_t last = in.size() - kEndBytes;
    for (uint64_t back = 0; back <= std::min(last, kMaxComment); ++back)
      if (in.at<uint32_t>(last - back) == kEndMark && in.at<uint16_t>(last - back + 20) == back)
        return last - back;
  }
  constexpr uint32_t kEntryMark = 0x04034b50;
  if (in.size() >= 4 && in.at<uint32_t>(0) == kEntryMark) {
    in.fail("the archive is cut off: no end record found; copy or download the file again");
  }
  in.fail("expected a zip archive (an EPUB, a file of PyTorch 1.6 or newer); no end record found");
}

/// An entry of the directory. 64-bit fields replace numbers that do not fit in 32 bits.
struct Record {
  uint64_t size = 0, packed = 0, local = 0;
};

Record read_record(const Reader& in, uint64_t at, uint64_t name, uint64_t extra) {
  Record r{in.at<uint32_t>(at + 24), in.at<uint32_t>(at + 20), in.at<uint32_t>(at + 42)};
  const uint64_t end = at + kDirectoryBytes + name + extra;
  for (uint64_t x = at + kDirectoryBytes + name; x + 4 <= end;) {
    const auto tag = in.at<uint16_t>(x), bytes = in.at<uint16_t>(x + 2);
    uint64_t field = x + 4;
    x = field + bytes;
    if (x > end) break;
    if (tag != kZip64Extra) continue;
    for (uint64_t* number : {&r.size, &r.packed, &r.local}) {
      if (*number != kSeeZip64) continue;
      if (field + 8 > x) in.fail("a 64-bit size is missing");
      *number = in.at<uint64_t>(field);
      field += 8;
    }
  }
  return r;
}

}  // namespace

ZipArchive::ZipArchive(std::shared_ptr<const MappedFile> file, bool compressed)
    : file_(std::move(file)) {
  const Reader in(file_->bytes(), file_->path());
  const uint64_t end = find_end(in);
  uint64_t count = in.at<uint16_t>(end + 10), size = in.at<uint32_t>(end + 12);
  uint64_t begin = in.at<uint32_t>(end + 16);
  if (end >= kLocator64Bytes && in.at<uint32_t>(end - kLocator64Bytes) == kLocator64Mark) {
    const auto end64 = in.at<uint64_t>(end - kLocator64Bytes + 8);
    in.need(end64, kEnd64Bytes);
    if (in.at<uint32_t>(end64) != kEnd64Mark) in.fail("expected a 64-bit end record");
    count = in.at<uint64_t>(end64 + 32);
    size = in.at<uint64_t>(end64 + 40);
    begin = in.at<uint64_t>(end64 + 48);
  }
  read_directory(begin, size, count, compressed);
}

void ZipArchive::read_directory(uint64_t begin, uint64_t size, uint64_t count, bool compressed) {
  const Reader in(file_->bytes(), file_->path());
  in.need(begin, size);
  if (count > kMaxEntries || count > size / kDirectoryBytes)
    in.fail(concat("expected at most ", std::min<uint64_t>(kMaxEntries, size / kDirectoryBytes),
                   " entries, got ", count));
  entries_.reserve(count);
  uint64_t at = begin;
  for (uint64_t i = 0; i < count; ++i) {
    if (in.at<uint32_t>(at) != kDirectoryMark) in.fail(concat("expected entry ", i, " at ", at));
    const uint64_t name_bytes = in.at<uint16_t>(at + 28), extra_bytes = in.at<uint16_t>(at + 30);
    const uint64_t comment_bytes = in.at<uint16_t>(at + 32);
    const std::string name = in.text(at + kDirectoryBytes, name_bytes);
    const auto flags = in.at<uint16_t>(at + 8), method = in.at<uint16_t>(at + 10);
    in.need(at + kDirectoryBytes + name_bytes, extra_bytes);
    const Record record = read_record(in, at, name_bytes, extra_bytes);
    const bool deflated = compressed && method == kDeflate;
    if ((!deflated && (method != 0 || record.size != record.packed)) || (flags & 1))
      in.fail(concat("entry ", shown(name), ": is compressed or encrypted; expected an ",
                     compressed ? "unencrypted entry, stored or deflated" : "uncompressed entry"));
    in.need(record.local, kLocalBytes);
    if (in.at<uint32_t>(record.local) != kLocalMark)
      in.fail(concat("entry ", shown(name), ": expected its header at ", record.local));
    const uint64_t data = record.local + kLocalBytes + in.at<uint16_t>(record.local + 26) +
                          in.at<uint16_t>(record.local + 28);
    in.need(data, record.packed);
    const ZipEntry entry{data, data + record.packed, record.size, deflated};
    if (!entries_.emplace(name, entry).second)
      in.fail(concat("entry ", shown(name), ": occurs twice"));
    at += kDirectoryBytes + name_bytes + extra_bytes + comment_bytes;
  }
}

const ZipEntry* ZipArchive::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string_view ZipArchive::text(const ZipEntry& entry) const {
  return {reinterpret_cast<const char*>(file_->bytes().data()) + entry.begin, entry.size()};
}

}  // namespace syrinx
