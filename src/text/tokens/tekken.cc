#include "text/tokens/tekken.h"

#include "base/check.h"
#include "text/tokens/json_file.h"
#include "text/tokens/tokenizer_parts.h"

namespace syrinx {
namespace {

using simdjson::dom::element;

constexpr int64_t kMostControls = 1 << 16;
constexpr size_t kMostTokenBytes = 1 << 10;
constexpr int kBytes = 256;  // the first ranks are the bytes, in order

int64_t whole(const JsonFile& file, element object, const char* key, const std::string& scope,
              int64_t least, int64_t most) {
  const int64_t number = file.count(object, key, scope);
  if (number < least || number > most)
    file.fail(scope + key, concat("expected ", least, " to ", most, ", got ", number));
  return number;
}

double number(const JsonFile& file, element object, const char* key, const std::string& scope,
              double least, double most) {
  double value = 0;
  if (file.get(object, key, scope).get(value) || !(value >= least && value <= most))
    file.fail(scope + key, concat("expected a number of ", least, " to ", most));
  return value;
}

/// Returns the control tokens. Ids that the file leaves out are control tokens without a name.
std::vector<AddedToken> read_controls(const JsonFile& file, int64_t controls) {
  std::vector<AddedToken> out;
  std::vector<bool> named(static_cast<size_t>(controls));
  int64_t index = 0;
  for (const element each : file.list(file.root(), "special_tokens", "")) {
    const std::string entry = concat("special_tokens[", index++, "].");
    const int64_t id = whole(file, each, "rank", entry, 0, controls - 1);
    if (named[static_cast<size_t>(id)]) file.fail(entry + "rank", concat(id, " is given twice"));
    named[static_cast<size_t>(id)] = true;
    out.push_back({.id = static_cast<int32_t>(id),
                   .content = std::string(file.text(each, "token_str", entry))});
  }
  for (size_t id = 0; id < named.size(); ++id) {
    if (named[id]) continue;
    out.push_back({.id = static_cast<int32_t>(id), .content = concat("<SPECIAL_", id, ">")});
  }
  return out;
}

/// Returns the bytes of each id; control tokens have none.
std::vector<std::string> tekken_ranks(const JsonFile& file, int64_t controls, int64_t size) {
  std::vector<std::string> out(static_cast<size_t>(controls));
  const simdjson::dom::array vocab = file.list(file.root(), "vocab", "");
  for (const element each : vocab) {
    const int64_t rank = std::ssize(out) - controls;
    if (rank == size - controls) break;
    const std::string entry = concat("vocab[", rank, "].");
    if (file.count(each, "rank", entry) != rank)
      file.fail(entry + "rank", concat("expected ", rank, ": the ranks in order"));
    const auto bytes = bytes_of_base64(file.text(each, "token_bytes", entry));
    if (!bytes || bytes->empty() || bytes->size() > kMostTokenBytes)
      file.fail(entry + "token_bytes", "expected the base64 of a token");
    if (rank < kBytes && *bytes != std::string(1, static_cast<char>(rank)))
      file.fail(entry + "token_bytes", concat("expected the byte ", rank));
    out.push_back(*bytes);
  }
  if (std::ssize(out) != size)
    file.fail("vocab", concat("expected ", size - controls, " tokens for ", size, " ids with ",
                              controls, " control tokens, got ", std::ssize(out) - controls));
  return out;
}

std::optional<TekkenAudio> read_audio(const JsonFile& file) {
  if (!JsonFile::has(file.root(), "audio")) return std::nullopt;
  const std::string scope = "audio.";
  const element audio = file.get(file.root(), "audio", "");
  if (!JsonFile::has(audio, "transcription_format") ||
      file.text(audio, "transcription_format", scope) != "streaming") {
    return std::nullopt;
  }
  const auto size = [&](element object, const char* key, const std::string& where, int64_t least,
                        int64_t most) {
    return static_cast<int>(whole(file, object, key, where, least, most));
  };
  TekkenAudio a;
  a.sample_rate = size(audio, "sampling_rate", scope, 1000, 192000);
  a.frame_rate = number(file, audio, "frame_rate", scope, 1, 1000);
  a.delay_ms = number(file, audio, "transcription_delay_ms", scope, 0, 60000);
  a.left_pad = size(audio, "streaming_n_left_pad_tokens", scope, 0, 1024);
  const element frames = file.get(audio, "audio_encoding_config", scope);
  const std::string inner = scope + "audio_encoding_config.";
  a.mels = size(frames, "num_mel_bins", inner, 1, 1024);
  a.hop = size(frames, "hop_length", inner, 1, 1 << 14);
  a.fft = size(frames, "window_size", inner, 1, 1 << 14);
  return a;
}

}  // namespace

Tekken read_tekken(const std::string& path) {
  const JsonFile file(path);
  if (!file.root().is_object()) file.fail("", "expected an object");
  const element config = file.get(file.root(), "config", "");
  const std::string scope = "config.";
  const int64_t controls =
      whole(file, config, "default_num_special_tokens", scope, 1, kMostControls);
  const int64_t size =
      whole(file, config, "default_vocab_size", scope, controls + kBytes, JsonFile::kMaxId + 1);
  const std::string pattern(file.text(config, "pattern", scope));
  return {Tokenizer::from_ranks(tekken_ranks(file, controls, size), path, pattern,
                                read_controls(file, controls)),
          read_audio(file)};
}

}  // namespace syrinx
