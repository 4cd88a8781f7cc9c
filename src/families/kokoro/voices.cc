#include "families/kokoro/voices.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "io/file.h"
#include "io/torch_pickle.h"
#include "io/zip_archive.h"

namespace syrinx::kokoro {
namespace {

std::shared_ptr<const VoicePack> checked(VoicePack pack, const std::string& where) {
  for (const float value : pack) {
    if (!std::isfinite(value)) throw LoadError(concat(where, ": a number is not finite"));
  }
  return std::make_shared<const VoicePack>(std::move(pack));
}

[[noreturn]] void other_voice(const std::string& where, const KokoroConfig& config,
                              const std::string& got) {
  throw LoadError(concat(where, ": expected a voice f32 [", config.most_phonemes(), ", 1, ",
                         2 * config.style, "], got ", got));
}

std::shared_ptr<const VoicePack> load_pack(const std::string& path, const KokoroConfig& config) {
  const TorchPickle file(MappedFile::read(path));
  const int64_t rows = config.most_phonemes(), width = 2 * config.style;
  if (file.tensors().size() != 1) {
    throw LoadError(concat(path, ": expected one tensor, got ", file.tensors().size()));
  }
  const TorchTensor& tensor = file.tensors().front();
  const bool fits =
      tensor.dtype == DType::kF32 && tensor.sizes == std::vector{rows, int64_t{1}, width};
  if (!fits) other_voice(path, config, tensor.str());
  const View view = file.view(tensor);
  return checked({view.f32(), view.f32() + view.count()}, path);
}

/// Makes a voice from the values of a file, which are little-endian f32.
std::shared_ptr<const VoicePack> pack_of(std::string_view bytes, const std::string& where,
                                         const KokoroConfig& config) {
  const auto count = static_cast<size_t>(config.most_phonemes() * 2 * config.style);
  if (bytes.size() != count * sizeof(float)) {
    other_voice(where, config, concat(bytes.size(), " bytes of numbers"));
  }
  VoicePack pack(count);
  std::memcpy(pack.data(), bytes.data(), bytes.size());
  return checked(std::move(pack), where);
}

/// Loads a numpy array (numpy:numpy/lib/format.py) with the shape of a voice.
std::shared_ptr<const VoicePack> load_array(std::string_view array, const std::string& where,
                                            const KokoroConfig& config) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr size_t kLengthAt = 8;
  if (!array.starts_with(kMagic) || array.size() < kLengthAt + 4) {
    throw LoadError(concat(where, ": expected an array of numpy"));
  }
  const auto byte = [&](size_t at) { return size_t{static_cast<uint8_t>(array[at])}; };
  const bool first = array[kMagic.size()] == 1;  // format version 1 has a shorter header
  const size_t begin = kLengthAt + (first ? 2 : 4);
  size_t length = byte(kLengthAt) | byte(kLengthAt + 1) << 8;
  if (!first) length |= byte(kLengthAt + 2) << 16 | byte(kLengthAt + 3) << 24;
  if (length > array.size() - begin) throw LoadError(concat(where, ": is truncated"));
  const std::string_view header = array.substr(begin, length);
  const std::string shape = concat("(", config.most_phonemes(), ", 1, ", 2 * config.style, ")");
  if (header.find("'<f4'") == header.npos || header.find(shape) == header.npos ||
      header.find("'fortran_order': False") == header.npos) {
    other_voice(where, config, std::string(header.substr(0, 200)));
  }
  return pack_of(array.substr(begin + length), where, config);
}

/// Loads voices-*.bin or *.npz: an archive with an entry NAME.npy for each voice.
void load_archive(const std::string& path, const KokoroConfig& config, Voices& voices) {
  const auto file = MappedFile::read(path);
  const ZipArchive archive(file);
  for (const auto& [name, entry] : archive.entries()) {
    const std::filesystem::path inside(name);
    if (inside.extension() != ".npy") continue;
    voices[inside.stem().string()] =
        load_array(archive.text(entry), concat(path, ": ", name), config);
  }
}

}  // namespace

Voices load_voices(const std::string& dir, const KokoroConfig& config) {
  Voices voices;
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(join_path(dir, "voices"), fault)) {
    const std::string path = entry.path().string(), name = entry.path().stem().string();
    if (entry.path().extension() == ".pt") voices[name] = load_pack(path, config);
    if (entry.path().extension() == ".bin") {
      const auto file = MappedFile::read(path);
      const auto bytes = file->bytes();
      voices[name] =
          pack_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, config);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir, fault)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("voices")) continue;
    if (name.ends_with(".bin") || name.ends_with(".npz")) {
      load_archive(entry.path().string(), config, voices);
    }
  }
  return voices;
}

std::shared_ptr<const VoicePack> mixed(const Voices& voices, std::span<const float> shares) {
  auto pack = std::make_shared<VoicePack>(voices.begin()->second->size(), 0.f);
  auto voice = voices.begin();
  for (const float share : shares) {
    if (share == 1) return voice->second;
    const VoicePack& each = *voice++->second;
    for (size_t n = 0; share > 0 && n < pack->size(); ++n) (*pack)[n] += share * each[n];
  }
  return pack;
}

std::string language_of(const std::string& voice) {
  static const std::map<char, std::string> kLanguages{{'a', "en-us"}, {'b', "en-gb"}, {'e', "es"},
                                                      {'f', "fr-fr"}, {'h', "hi"},    {'i', "it"},
                                                      {'j', "ja"},    {'p', "pt-br"}, {'z', "zh"}};
  const bool named = voice.size() > 3 && voice[2] == '_';
  const auto found = named ? kLanguages.find(voice[0]) : kLanguages.end();
  return found == kLanguages.end() ? "" : found->second;
}

}  // namespace syrinx::kokoro
