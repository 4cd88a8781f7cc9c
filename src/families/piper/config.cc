#include "families/piper/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/languages.h"
#include "text/unicode.h"

namespace syrinx::piper {
namespace {

constexpr int64_t kMostId = 65535, kMostSpeakers = 65536;
constexpr size_t kMostPhonemes = 65536, kMostIdsOfOne = 64;

bool is_plain_voice(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '+';
  };
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), good);
}

void read_ids(const Config& config, PiperConfig& c) {
  const Config map = config.sub("phoneme_id_map");
  const std::vector<std::string> keys = map.keys();
  config.check("phoneme_id_map", keys.size() <= kMostPhonemes, "has too many phonemes");
  for (const std::string& key : keys) {
    const bool one = map.raw().at(key).is_number();
    const std::vector<int64_t> ids =
        one ? std::vector{map.i(key, 0, kMostId)} : map.ints(key, 0, kMostId);
    map.check(key, ids.size() <= kMostIdsOfOne, "has too many ids");
    c.ids[normalize(key, NormalForm::kNfd)].assign(ids.begin(), ids.end());
  }
  for (const auto& [key, ids] : {std::pair{"^", &c.begin}, {"_", &c.pad}, {"$", &c.end}}) {
    const auto found = c.ids.find(key);
    config.check(
        "phoneme_id_map", found != c.ids.end() && !found->second.empty(),
        concat("expected ids for '", key, "', with which a text ", "begins, is padded or ends"));
    *ids = found->second;
  }
}

void read_speakers(const Config& config, PiperConfig& c) {
  const int64_t count = config.opt_i("num_speakers", 1, 1, kMostSpeakers);
  c.speakers.resize(static_cast<size_t>(count));
  if (config.has("speaker_id_map")) {
    for (const auto& [name, number] : config.map_i("speaker_id_map", 0, count - 1)) {
      if (c.speakers[static_cast<size_t>(number)].empty()) {
        c.speakers[static_cast<size_t>(number)] = name;
      }
    }
  }
  c.default_speaker = config.opt_i<int>("default_speaker_id", 0, 0, count - 1);
}

}  // namespace

PiperConfig PiperConfig::from(const Config& config) {
  PiperConfig c;
  const Config audio = config.sub("audio");
  c.sample_rate = audio.i<int>("sample_rate", 8000, 48000);
  c.quality = audio.opt_s("quality", "");
  c.dataset = config.opt_s("dataset", "");
  const std::string type = config.opt_s("phoneme_type", "espeak");
  config.check(
      "phoneme_type", type == "espeak" || type == "text",
      concat("expected espeak or text, got '", type, "', whose phonemes need another program"));
  c.espeak = type == "espeak";
  if (c.espeak) {
    const Config espeak = config.sub("espeak");
    c.espeak_voice = espeak.s("voice");
    espeak.check("voice", is_plain_voice(c.espeak_voice),
                 "expected letters, digits, '-', '_' and '+'");
  }
  const auto language = config.opt_sub("language");
  c.language = language_code(language ? language->opt_s("family", "") : "");
  if (c.language.empty()) c.language = language_code(c.espeak_voice);
  if (const auto inference = config.opt_sub("inference")) {
    const auto number = [&](const char* key, float& value, double least, double most) {
      value = static_cast<float>(inference->opt_f(key, value, least, most));
    };
    number("noise_scale", c.noise_scale, 0, 10);
    number("length_scale", c.length_scale, 0.05, 20);
    number("noise_w", c.noise_w, 0, 10);
  }
  read_ids(config, c);
  read_speakers(config, c);
  return c;
}

int64_t PiperConfig::symbols() const {
  int64_t most = -1;
  for (const auto& [phoneme, some] : ids) {
    for (const int32_t id : some) most = std::max<int64_t>(most, id);
  }
  return most + 1;
}

}  // namespace syrinx::piper
