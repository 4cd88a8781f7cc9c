#include "voices/voice_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "audio/wav_file.h"
#include "base/calendar.h"
#include "base/check.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/json.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames = "names";
constexpr const char* kRecordings = "recordings";
constexpr const char* kEncoded = "encoded";
constexpr const char* kConsents = "consents";
constexpr size_t kMaxIdBytes = 64;
constexpr size_t kMaxTextBytes = 16 << 10;    // most bytes of each field
constexpr size_t kMaxEntryBytes = 256 << 10;  // most bytes of a file in names/
constexpr size_t kMaxRecordingBytes = 256 << 20;
constexpr size_t kMaxListed = 100'000;

Error fault(std::string message, const char* param, ErrorCode code = ErrorCode::kInvalid) {
  return {code, std::move(message), param};
}

bool is_hash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_consent_id(std::string_view id) {
  return id.starts_with("cons_") && id.find_first_not_of("0123456789abcdef", 5) == id.npos;
}

int64_t unix_time_s() { return static_cast<int64_t>(std::time(nullptr)); }

/// Locks a store, so that one process at a time changes it. Held for a short time.
class StoreLock {
 public:
  explicit StoreLock(const std::string& directory) {
    std::error_code made;
    const bool fresh = fs::create_directories(directory, made);
    if (made) load_fault(directory, "", "cannot be created: " + made.message());
    // The directory contains recordings of people, so only this user may read it.
    if (fresh) fs::permissions(directory, fs::perms::owner_all, made);
    const std::string path = join_path(directory, ".lock");
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) {
      const int why = errno;
      if (fd_ >= 0) ::close(fd_);
      load_fault(path, "", std::string("cannot be locked: ") + std::strerror(why));
    }
  }
  ~StoreLock() { ::close(fd_); }
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  int fd_ = -1;
};

void write_file(const std::string& path, std::string_view bytes) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  NewFile file(path);
  file.append(bytes.data(), bytes.size());
  file.commit();
}

nlohmann::ordered_json to_json(const StoredVoice& voice) {
  return {{"name", voice.name},
          {"text", voice.text},
          {"mode", voice.mode},
          {"consent", voice.consent},
          {"description", voice.description},
          {"recording", voice.recording},
          {"encoded", voice.encoded},
          {"family", voice.family},
          {"seconds", voice.seconds},
          {"sample_rate", voice.sample_rate},
          {"bytes", voice.recording_bytes},
          {"created", voice.created_s}};
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

size_t bytes_below(const std::string& directory) {
  size_t bytes = 0;
  std::error_code fault;
  for (fs::recursive_directory_iterator at(directory, fault), end; !fault && at != end;
       at.increment(fault)) {
    std::error_code gone;
    if (at->is_regular_file(gone)) bytes += at->file_size(gone);
  }
  return bytes;
}

Status check_field(const std::string& value, const char* name) {
  if (value.size() > kMaxTextBytes) {
    return fault(concat("'", name, "' has ", value.size(), " bytes; at most ", kMaxTextBytes,
                        " are allowed"),
                 name);
  }
  if (!utf8_valid(value)) return fault(concat("'", name, "' is not valid UTF-8"), name);
  return ok_status();
}

}  // namespace

std::string voice_id(std::string_view name) {
  if (!utf8_valid(name)) return "";
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                      (static_cast<unsigned char>(c) & 0x80) != 0;
    if (upper) {
      out += static_cast<char>(c - 'A' + 'a');
    } else if (kept) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  // Removes dots and hyphens at the beginning: no hidden files, no "..".
  out.erase(0, std::min(out.find_first_not_of(".-"), out.size()));
  return out.size() <= kMaxIdBytes ? out : "";
}

std::string voice_key(std::string_view recording, const VoiceEncoderInfo& encoder,
                      std::string_view mode, std::string_view text) {
  std::string all;
  for (const std::string_view part : {recording, std::string_view(encoder.family),
                                      std::string_view(encoder.version), mode, text}) {
    all += concat(part.size(), ":");  // the length separates adjacent parts
    all += part;
  }
  return sha256_hex(all);
}

/// Returns the size of the file that stores a recording.
static int64_t recording_bytes(const RecordedAudio& audio) {
  return std::ssize(recording_wav(audio.samples, audio.sample_rate));
}

std::string recording_hash(const RecordedAudio& audio) {
  return sha256_hex(recording_wav(audio.samples, audio.sample_rate));
}

VoiceStore::VoiceStore(std::string directory, VoiceStoreLimits limits)
    : directory_(std::move(directory)), limits_(limits) {}

std::string VoiceStore::default_directory() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string given = variable("SYRINX_VOICES"); !given.empty()) return given;
  if (const std::string data = variable("XDG_DATA_HOME"); data.starts_with('/')) {
    return join_path(data, "syrinx/voices");
  }
  const std::string home = variable("HOME");
  return home.starts_with('/') ? join_path(home, ".local/share/syrinx/voices") : "";
}

std::string VoiceStore::path(const char* folder, const std::string& file) const {
  return join_path(join_path(directory_, folder), file);
}

std::vector<std::string> VoiceStore::ids(const char* folder) const {
  std::vector<std::string> out;
  std::error_code fault;
  for (fs::directory_iterator at(path(folder), fault), end;
       !fault && at != end && out.size() < kMaxListed; at.increment(fault)) {
    if (at->path().extension() == ".json") out.push_back(at->path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<StoredVoice> VoiceStore::read_entry(const std::string& id) const try {
  const std::string file = path(kNames, id + ".json");
  if (!is_file(file)) return {};
  const Config config = Config::parse(read_file(file, kMaxEntryBytes), file);
  StoredVoice voice{.id = id,
                    .name = config.s("name"),
                    .text = config.opt_s("text", ""),
                    .mode = config.opt_s("mode", ""),
                    .consent = config.opt_s("consent", ""),
                    .description = config.opt_s("description", ""),
                    .recording = config.opt_s("recording", ""),
                    .encoded = config.opt_s("encoded", ""),
                    .family = config.opt_s("family", ""),
                    .seconds = config.opt_f("seconds", 0, 0, 1e6),
                    .sample_rate = static_cast<int>(config.opt_i("sample_rate", 0, 0, 1'000'000)),
                    .recording_bytes = config.opt_i("bytes", 0, 0, int64_t{1} << 40),
                    .created_s = config.opt_i("created", 0)};
  // The fields become parts of paths, so they are checked.
  const bool recorded = is_hash(voice.recording) && voice.encoded.empty();
  const bool made = voice.recording.empty() && is_hash(voice.encoded);
  if (!recorded && !made) return {};
  return voice;
} catch (const LoadError&) {  // the entry is damaged, or was removed meanwhile
  return {};
}

std::vector<StoredVoice> VoiceStore::list() const {
  std::vector<StoredVoice> out;
  for (const std::string& id : ids(kNames)) {
    if (voice_id(id) != id) continue;
    if (auto voice = read_entry(id)) out.push_back(std::move(*voice));
  }
  return out;
}

std::optional<StoredVoice> VoiceStore::find(std::string_view name) const {
  const std::string id = voice_id(name);
  return id.empty() ? std::nullopt : read_entry(id);
}

Status VoiceStore::check_room(bool replaces, size_t bytes) const {
  if (!replaces && ids(kNames).size() >= limits_.max_voices) {
    return fault(concat("the limit of ", limits_.max_voices, " voices is reached"), "name",
                 ErrorCode::kUnsupported);
  }
  if (bytes_below(directory_) + bytes > limits_.max_bytes) {
    return fault(concat("the limit of ", limits_.max_bytes >> 20, " MiB for voices is reached"),
                 "name", ErrorCode::kUnsupported);
  }
  return ok_status();
}

void VoiceStore::put_recording(const std::string& hash, const RecordedAudio& audio) const {
  const std::string file = path(kRecordings, hash + ".wav");
  const std::string wav = recording_wav(audio.samples, audio.sample_rate);
  std::error_code none;
  // The file is absent, or was truncated by a power cut.
  if (fs::file_size(file, none) != wav.size()) write_file(file, wav);
}

Result<StoredVoice> VoiceStore::add(const NewVoice& wish, const RecordedAudio& audio) {
  return add_entry(wish,
                   {.recording = recording_hash(audio),
                    .seconds = audio.seconds(),
                    .sample_rate = audio.sample_rate,
                    .recording_bytes = recording_bytes(audio)},
                   &audio, nullptr);
}

Result<StoredVoice> VoiceStore::add(const NewVoice& wish, const Voice& voice) {
  NewVoice as_made = wish;
  as_made.mode = voice.mode;
  as_made.text = voice.text;
  std::string content = concat(voice.encoder, ":");
  for (const auto& [name, tensor] : voice.tensors) {
    content += concat(name, dtype_name(tensor.dtype()), tensor.shape().str(), ":");
    content.append(static_cast<const char*>(tensor.view().data), tensor.bytes());
  }
  VoiceEncoderInfo maker;
  maker.family = voice.family;
  maker.version = voice.encoder;
  return add_entry(as_made,
                   {.encoded = voice_key(sha256_hex(content), maker, voice.mode, voice.text),
                    .family = voice.family,
                    .seconds = voice.seconds},
                   nullptr, &voice);
}

Result<StoredVoice> VoiceStore::add_entry(const NewVoice& wish, StoredVoice entry,
                                          const RecordedAudio* audio, const Voice* voice) {
  entry.id = voice_id(wish.name);
  entry.name = wish.name;
  entry.text = wish.text;
  entry.mode = wish.mode;
  entry.consent = wish.consent;
  entry.description = wish.description;
  entry.created_s = unix_time_s();
  if (entry.id.empty() || wish.name.find_first_of("+()") != std::string::npos) {
    return fault(concat("'", shown(wish.name, 80),
                        "' is not a valid name of a voice: expected at least one letter or digit, "
                        "no '+', '(' or ')', and at most ",
                        kMaxIdBytes, " bytes"),
                 "name");
  }
  for (const auto& [value, name] :
       {std::pair{&wish.name, "name"}, std::pair{&wish.text, "ref_text"},
        std::pair{&wish.mode, "ref_mode"}, std::pair{&wish.consent, "consent"},
        std::pair{&wish.description, "description"}}) {
    if (auto bad = check_field(*value, name); !bad) return bad.error();
  }
  const StoreLock lock(directory_);
  const bool there = is_file(path(kNames, entry.id + ".json"));
  if (there && !wish.replace) {
    return fault(concat("the voice '", entry.id, "' exists already"), "name");
  }
  const size_t bytes =
      audio != nullptr ? static_cast<size_t>(entry.recording_bytes) : kMaxVoiceFileBytes;
  if (auto bad = check_room(there, bytes); !bad) return bad.error();
  if (audio != nullptr) put_recording(entry.recording, *audio);
  if (voice != nullptr) keep(entry.encoded, "", *voice);
  write_file(path(kNames, entry.id + ".json"), dump(to_json(entry)));
  if (there) collect();
  return entry;
}

Status VoiceStore::remove(std::string_view name) {
  const std::string id = voice_id(name);
  std::error_code ignored;
  if (id.empty() || !is_file(path(kNames, id + ".json"))) {
    return fault(concat("there is no stored voice '", shown(name, 80), "'"), "voice",
                 ErrorCode::kNotFound);
  }
  const StoreLock lock(directory_);
  fs::remove(path(kNames, id + ".json"), ignored);
  collect();
  return ok_status();
}

/// Removes recordings and encoded voices that no entry needs. Call with the lock held. If another
/// process is encoding one of these recordings, it stores the voice after this call. The next call
/// removes that voice.
void VoiceStore::collect() const {
  std::set<std::string> needed;
  for (const std::string& id : ids(kNames)) {
    // An unreadable entry may need any file, so nothing is removed.
    const auto voice = read_entry(id);
    if (!voice) return;
    needed.insert(voice->recording.empty() ? voice->encoded : voice->recording);
  }
  for (const std::string& id : ids(kConsents)) {
    const auto consent = find_consent(id);
    if (!consent && is_consent_id(id)) return;
    if (consent) needed.insert(consent->recording);
  }
  const auto sweep = [&](const char* folder, auto is_needed) {
    std::vector<fs::path> gone;
    std::error_code fault;
    for (fs::directory_iterator at(path(folder), fault), end; !fault && at != end;
         at.increment(fault)) {
      if (!is_needed(at->path().stem().string(), at->path().string())) gone.push_back(at->path());
    }
    for (const fs::path& each : gone) fs::remove(each, fault);
  };
  sweep(kRecordings, [&](const std::string& hash, const std::string&) {
    return !is_hash(hash) || needed.contains(hash);
  });
  sweep(kEncoded, [&](const std::string& key, const std::string& file) {
    if (!is_hash(key) || needed.contains(key)) return true;
    try {
      return needed.contains(read_voice_file(file).notes.source);
    } catch (const LoadError&) {
      return false;
    }
  });
}

std::string VoiceStore::recording_file(const StoredVoice& voice) const {
  return read_file(path(kRecordings, voice.recording + ".wav"), kMaxRecordingBytes);
}

Recording VoiceStore::recording(const StoredVoice& voice) const {
  const std::string file = path(kRecordings, voice.recording + ".wav");
  Wav wav = read_wav(file, kMaxRecordingBytes);
  if (wav.channels != 1) load_fault(file, "", concat("expected 1 channel, got ", wav.channels));
  return {.samples = std::move(wav.samples),
          .sample_rate = static_cast<int>(wav.rate),
          .text = voice.text,
          .mode = voice.mode};
}

std::shared_ptr<const Voice> VoiceStore::load(const std::string& key) const try {
  const std::string file = path(kEncoded, key + ".safetensors");
  if (!is_hash(key) || !is_file(file)) return nullptr;
  return std::make_shared<const Voice>(read_voice_file(file).voice);
} catch (const LoadError&) {
  return nullptr;  // the caller then encodes the voice again
}

void VoiceStore::keep(const std::string& key, const std::string& recording,
                      const Voice& voice) const {
  if (!recording.empty() && !is_file(path(kRecordings, recording + ".wav"))) return;
  const std::string file = path(kEncoded, key + ".safetensors");
  std::error_code ignored;
  fs::create_directories(path(kEncoded), ignored);
  const std::string created = utc_text(std::time(nullptr), "%Y-%m-%dT%H:%M:%SZ");
  write_voice_file(file, voice, {.source = recording, .created = created});
}

// ---------------------------------------------------------------------------- consents

Result<StoredConsent> VoiceStore::add_consent(const std::string& name, const std::string& language,
                                              const RecordedAudio& audio) {
  for (const auto& [value, field] : {std::pair{&name, "name"}, std::pair{&language, "language"}}) {
    if (auto bad = check_field(*value, field); !bad) return bad.error();
  }
  if (name.empty()) return fault("'name' must be the name of the person that consents", "name");
  std::random_device random;
  StoredConsent consent{.name = name,
                        .language = language,
                        .recording = recording_hash(audio),
                        .created_s = unix_time_s()};
  consent.id = "cons_" + sha256_hex(concat(random(), ".", random(), ".", random())).substr(0, 24);
  const StoreLock lock(directory_);
  if (ids(kConsents).size() >= limits_.max_voices) {
    return fault(concat("the limit of ", limits_.max_voices, " consents is reached"), "name",
                 ErrorCode::kUnsupported);
  }
  if (auto bad = check_room(true, recording_bytes(audio)); !bad) return bad.error();
  put_recording(consent.recording, audio);
  write_file(path(kConsents, consent.id + ".json"), dump({{"name", consent.name},
                                                          {"language", consent.language},
                                                          {"recording", consent.recording},
                                                          {"created", consent.created_s}}));
  return consent;
}

std::optional<StoredConsent> VoiceStore::find_consent(const std::string& id) const try {
  if (!is_consent_id(id)) return {};
  const std::string file = path(kConsents, id + ".json");
  if (!is_file(file)) return {};
  const Config config = Config::parse(read_file(file, kMaxEntryBytes), file);
  return StoredConsent{.id = id,
                       .name = config.s("name"),
                       .language = config.opt_s("language", ""),
                       .recording = config.s("recording"),
                       .created_s = config.opt_i("created", 0)};
} catch (const LoadError&) {
  return {};
}

std::vector<StoredConsent> VoiceStore::consents() const {
  std::vector<StoredConsent> out;
  for (const std::string& id : ids(kConsents)) {
    if (auto consent = find_consent(id)) out.push_back(std::move(*consent));
  }
  return out;
}

Status VoiceStore::remove_consent(const std::string& id) {
  if (!find_consent(id)) {
    return fault(concat("there is no consent '", shown(id, 80), "'"), "consent",
                 ErrorCode::kNotFound);
  }
  const StoreLock lock(directory_);
  std::error_code ignored;
  fs::remove(path(kConsents, id + ".json"), ignored);
  collect();
  return ok_status();
}

}  // namespace syrinx
