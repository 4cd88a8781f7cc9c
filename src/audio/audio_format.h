// The formats in which audio is written, by name. Free functions; any thread.
#pragma once

#include <optional>
#include <string_view>

namespace syrinx {

/// Containers and codings that an Encoder writes.
enum class AudioFormat { kMp3, kOpus, kAac, kFlac, kWav, kPcm, kM4a };

/// Finds a format by "mp3", "opus" or "ogg", "aac", "flac", "wav", "pcm", "m4a" or "m4b"; empty for
/// any other name.
std::optional<AudioFormat> audio_format(std::string_view name);
/// Returns e.g. "mp3"; static storage.
const char* audio_format_name(AudioFormat format);
/// Returns e.g. "audio/mpeg"; static storage.
const char* mime_type(AudioFormat format);

}  // namespace syrinx
