#include "audio/audio_format.h"

#include <array>
#include <cstddef>

namespace syrinx {
namespace {

struct FormatRow {
  AudioFormat format;
  const char* name;
  const char* mime;
};
constexpr std::array<FormatRow, 7> kFormats = {{
    {AudioFormat::kMp3, "mp3", "audio/mpeg"},
    {AudioFormat::kOpus, "opus", "audio/ogg"},
    {AudioFormat::kAac, "aac", "audio/aac"},
    {AudioFormat::kFlac, "flac", "audio/flac"},
    {AudioFormat::kWav, "wav", "audio/wav"},
    {AudioFormat::kPcm, "pcm", "audio/pcm"},
    {AudioFormat::kM4a, "m4a", "audio/mp4"},
}};

const FormatRow& row(AudioFormat format) { return kFormats[static_cast<size_t>(format)]; }

}  // namespace

std::optional<AudioFormat> audio_format(std::string_view name) {
  if (name == "ogg") return AudioFormat::kOpus;
  if (name == "m4b") return AudioFormat::kM4a;  // the file extension of audiobooks
  for (const FormatRow& each : kFormats) {
    if (name == each.name) return each.format;
  }
  return {};
}

const char* audio_format_name(AudioFormat format) { return row(format).name; }
const char* mime_type(AudioFormat format) { return row(format).mime; }

}  // namespace syrinx
