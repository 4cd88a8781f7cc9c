#include "cli/speak/text_input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <ostream>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "text/utf8.h"
#include "text/windows_1252.h"

namespace syrinx {
namespace {

constexpr size_t kAccidents = 8;  // unusual bytes that even a short text may contain

std::string read_stream(std::FILE* in, const std::string& name) {
  std::string out;
  char block[1 << 16];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof block, in)) > 0;) {
    if (out.size() + got > kMaxTextFileBytes) {
      throw LoadError(concat(name, " has more than ", kMaxTextFileBytes >> 20, " MiB"));
    }
    out.append(block, got);
  }
  if (std::ferror(in) != 0) throw LoadError("cannot read " + name + ": " + std::strerror(errno));
  return out;
}

bool is_control(unsigned char c) { return (c < 0x20 && (c < '\t' || c > '\r')) || c == 0x7f; }

}  // namespace

std::string why_no_text(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04")) {
    return "it is a ZIP archive; 'syrinx book FILE.epub' reads an EPUB";
  }
  if (bytes.starts_with("%PDF-")) return "it is a PDF; convert it with pdftotext";
  if (const size_t zero = bytes.find('\0'); zero != std::string_view::npos) {
    const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
    return utf16 ? "it is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"
                 : concat("it has a zero byte at ", zero);
  }
  size_t strange = 0, characters = 0;
  for (size_t at = 0; at < bytes.size(); ++characters) {
    const CodePoint point = utf8_at(bytes, at);
    strange += !point.valid || is_control(static_cast<unsigned char>(bytes[at])) ? 1 : 0;
    at += point.size;
  }
  if (strange <= kAccidents || strange * 10 <= characters) return "";
  return concat(strange, " of its ", characters, " characters are not UTF-8, or not printable");
}

std::string read_text(const std::string& path, std::ostream* report) {
  const bool standard = path == "-";
  const std::string name = standard ? "the standard input" : path;
  if (is_directory(path)) throw LoadError(path + " is a directory, not a text");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      standard ? nullptr : std::fopen(path.c_str(), "rb"),
      [](std::FILE* f) { return f == nullptr ? 0 : std::fclose(f); });
  if (!standard && !file) throw LoadError("cannot read " + path + ": " + std::strerror(errno));
  std::string text = read_stream(standard ? stdin : file.get(), name);
  const bool windows = text.find('\0') == text.npos && looks_windows_1252(text);
  if (windows) text = from_windows_1252(text);
  if (const std::string why = why_no_text(text); !why.empty()) {
    throw LoadError(name + " is not a text: " + why);
  }
  if (windows && report != nullptr) {
    *report << name << " is not valid UTF-8 and was read as Windows-1252.\n";
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace syrinx
