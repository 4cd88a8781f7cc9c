#include "model/voice_file.h"

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/number.h"
#include "io/file.h"
#include "io/safetensors.h"

namespace syrinx {
namespace {

constexpr const char* kMark = "syrinx_voice";
constexpr const char* kVersion = "1";
constexpr size_t kMaxTensors = 64;
constexpr size_t kMaxTextBytes = 64 << 10;  // largest size of a metadata entry, in bytes
constexpr double kMaxSeconds = 3600;

double parse_seconds(const std::string& path, const std::string& text) {
  double value = -1;
  if (!parse_number(text, value) || !(value >= 0 && value <= kMaxSeconds)) {
    load_fault(path, "seconds", concat("expected 0 to ", kMaxSeconds, ", got ", shown(text)));
  }
  return value;
}

Tensor tensor_of(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  const std::string where = "tensor " + shown(entry.name);
  if (!entry.dtype) load_fault(file.path(), where, "is of an unknown type: " + entry.str());
  const View view = file.view(entry);
  if (view.count() == 0) load_fault(file.path(), where, "is empty: " + entry.str());
  Tensor out(view.shape, view.dtype);
  std::memcpy(out.view().data, view.data, view.bytes());
  if (out.dtype() != DType::kF32) return out;
  for (int64_t i = 0; i < view.count(); ++i) {
    if (!std::isfinite(out.f32()[i])) {
      load_fault(file.path(), where, concat("value ", i, " is not finite"));
    }
  }
  return out;
}

}  // namespace

void write_voice_file(const std::string& path, const Voice& voice, const VoiceNotes& notes) {
  SafetensorsWriter writer(path);
  for (const auto& [name, tensor] : voice.tensors) writer.add(name, tensor);
  writer.finish({{kMark, kVersion},
                 {"family", voice.family},
                 {"encoder", voice.encoder},
                 {"mode", voice.mode},
                 {"text", voice.text},
                 {"seconds", concat(voice.seconds)},
                 {"name", notes.name},
                 {"consent", notes.consent},
                 {"source", notes.source},
                 {"created", notes.created}});
}

VoiceFile read_voice_file(const std::string& path) {
  std::error_code fault;
  const auto size = std::filesystem::file_size(path, fault);
  if (fault) load_fault(path, "", "cannot be read: " + fault.message());
  if (size > kMaxVoiceFileBytes) {
    load_fault(path, "",
               concat("expected a voice of at most ", kMaxVoiceFileBytes, " bytes, got ", size));
  }
  const SafetensorsFile file(path);
  const auto& metadata = file.metadata();
  const auto text = [&](const char* key) -> std::string {
    const auto at = metadata.find(key);
    if (at == metadata.end()) load_fault(path, key, "is missing: not a voice file");
    if (at->second.size() > kMaxTextBytes) {
      load_fault(path, key,
                 concat("expected at most ", kMaxTextBytes, " bytes, got ", at->second.size()));
    }
    return at->second;
  };
  if (const std::string version = text(kMark); version != kVersion) {
    load_fault(path, kMark, concat("expected ", kVersion, ", got ", shown(version)));
  }
  VoiceFile out{.voice = {.family = text("family"),
                          .encoder = text("encoder"),
                          .mode = text("mode"),
                          .text = text("text"),
                          .seconds = parse_seconds(path, text("seconds"))},
                .notes = {.name = text("name"),
                          .consent = text("consent"),
                          .source = text("source"),
                          .created = text("created")}};
  if (out.voice.family.empty()) load_fault(path, "family", "is empty");
  const size_t count = file.entries().size();
  if (count == 0 || count > kMaxTensors) {
    load_fault(path, "", concat("expected 1 to ", kMaxTensors, " tensors, got ", count));
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    out.voice.tensors.emplace(entry.name, tensor_of(file, entry));
  }
  return out;
}

}  // namespace syrinx
