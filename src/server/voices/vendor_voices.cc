#include "server/voices/vendor_voices.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/calendar.h"
#include "base/check.h"
#include "base/number.h"
#include "server/request/fields.h"
#include "server/voices/voice_objects.h"

namespace syrinx {
namespace {

constexpr std::string_view kElevenVoices = "/v1/voices", kElevenVoicesPaged = "/v2/voices";
constexpr std::string_view kCartesiaVoices = "/voices";
constexpr size_t kPageVoices = 10, kMaxPageVoices = 100;  // default and limit of both vendors

/// Returns the decoded ID of a path PREFIX/ID; an empty string for another path.
std::string voice_id_in(std::string_view path, std::string_view prefix) {
  if (path.size() <= prefix.size() + 1 || !path.starts_with(prefix)) return "";
  path.remove_prefix(prefix.size());
  if (path[0] != '/' || path.find('/', 1) != std::string_view::npos) return "";
  return url_decode(path.substr(1));
}

std::string main_language(const Speaker& speaker) {
  const auto& known = speaker.info->speech.languages;
  return known.empty() ? "en" : known.front();
}

int64_t created_s(const ListedVoice& voice) {
  return voice.kept ? static_cast<int64_t>(voice.kept->created_s) : 0;
}

std::string utc(int64_t seconds) { return utc_text(seconds, "%Y-%m-%dT%H:%M:%SZ"); }

JsonOut eleven_voice(const ListedVoice& voice, const Speaker& speaker) {
  return {{"voice_id", voice.id},
          {"name", voice.name},
          {"category", voice.kept ? "cloned" : "premade"},
          {"description", voice.description},
          {"labels", {{"language", main_language(speaker)}}},
          {"samples", nullptr},
          {"settings", nullptr},
          {"preview_url", nullptr},
          {"available_for_tiers", JsonOut::array()},
          {"high_quality_base_model_ids", JsonOut::array()},
          {"is_owner", voice.kept.has_value()},
          {"created_at_unix", created_s(voice)}};
}

JsonOut cartesia_voice(const ListedVoice& voice, const Speaker& speaker) {
  const std::string language = main_language(speaker);
  return {{"id", voice.id},
          {"name", voice.name},
          {"tagline", ""},
          {"description", voice.description},
          {"access", "public"},
          {"visibility", "all"},
          {"is_owner", voice.kept.has_value()},
          {"is_public", true},
          {"language", language},
          {"locales", JsonOut::array({JsonOut{{"locale", language}, {"is_native", true}}})},
          {"gender", nullptr},
          {"created_at", utc(created_s(voice))}};
}

Reply json_answer(const JsonOut& out) { return {.status = 200, .body = dump_json(out) + "\n"}; }

/// Returns the voices with `text` in their id, name or description; ignores case.
std::vector<ListedVoice> matching(std::vector<ListedVoice> voices, const std::string& text) {
  const std::string wanted = lower_ascii(text);
  std::erase_if(voices, [&](const ListedVoice& voice) {
    const std::string words = voice.id + "\n" + voice.name + "\n" + voice.description;
    return lower_ascii(words).find(wanted) == std::string::npos;
  });
  return voices;
}

/// Returns a number of the query in [0, most], or `otherwise`.
size_t count_in(const Query& query, const char* name, size_t otherwise, size_t most) {
  const std::string text = query.find(name).value_or("");
  size_t out = 0;
  return parse_number(text, out) ? std::min(out, most) : otherwise;
}

/// Returns the voices [begin, begin + size) in a vendor's form.
template <typename Write>
JsonOut page_of(const std::vector<ListedVoice>& voices, size_t begin, size_t size, Write write) {
  JsonOut out = JsonOut::array();
  for (size_t i = begin; i < std::min(begin + size, voices.size()); ++i) {
    out.push_back(write(voices[i]));
  }
  return out;
}

Reply eleven_page(const std::vector<ListedVoice>& all, const Query& query, const Speaker& speaker) {
  const std::vector<ListedVoice> voices = matching(all, query.find("search").value_or(""));
  const size_t size =
      std::max<size_t>(1, count_in(query, "page_size", kPageVoices, kMaxPageVoices));
  const size_t begin = count_in(query, "next_page_token", 0, voices.size());
  const bool more = begin + size < voices.size();
  return json_answer(
      {{"voices", page_of(voices, begin, size,
                          [&](const ListedVoice& voice) { return eleven_voice(voice, speaker); })},
       {"has_more", more},
       {"total_count", voices.size()},
       {"next_page_token", more ? JsonOut(std::to_string(begin + size)) : JsonOut()}});
}

/// Returns the page after the voice `starting_after`, or before the voice `ending_before`.
Reply cartesia_page(const std::vector<ListedVoice>& all, const Query& query,
                    const Speaker& speaker) {
  const std::vector<ListedVoice> voices = matching(all, query.find("q").value_or(""));
  const size_t size = std::max<size_t>(1, count_in(query, "limit", kPageVoices, kMaxPageVoices));
  const auto place = [&](const std::string& id) {
    const auto at = std::find_if(voices.begin(), voices.end(),
                                 [&](const ListedVoice& voice) { return voice.id == id; });
    return static_cast<size_t>(at - voices.begin());
  };
  size_t begin = 0, end = std::min(size, voices.size());
  if (const auto after = query.find("starting_after")) {
    begin = std::min(place(*after) + 1, voices.size());
    end = std::min(begin + size, voices.size());
  } else if (const auto before = query.find("ending_before")) {
    end = place(*before);
    begin = end - std::min(end, size);
  }
  return json_answer(
      {{"data", page_of(voices, begin, end - begin,
                        [&](const ListedVoice& voice) { return cartesia_voice(voice, speaker); })},
       {"has_more", end < voices.size()}});
}

}  // namespace

bool is_vendor_voices(std::string_view path) {
  return path == kElevenVoices || path == kElevenVoicesPaged || path == kCartesiaVoices ||
         !voice_id_in(path, kElevenVoices).empty() || !voice_id_in(path, kCartesiaVoices).empty();
}

Reply answer_vendor_voices(std::string_view path, std::string_view query, const Speaker& speaker) {
  const std::vector<ListedVoice> voices = list_voices(speaker, true);
  const Query parameters(query);
  if (path == kElevenVoicesPaged) return eleven_page(voices, parameters, speaker);
  if (path == kCartesiaVoices) return cartesia_page(voices, parameters, speaker);
  if (path == kElevenVoices) {
    return json_answer({{"voices", page_of(voices, 0, voices.size(), [&](const ListedVoice& voice) {
                           return eleven_voice(voice, speaker);
                         })}});
  }
  const bool eleven = path.starts_with(kElevenVoices);
  const std::string id = voice_id_in(path, eleven ? kElevenVoices : kCartesiaVoices);
  for (const ListedVoice& voice : voices) {
    if (voice.id != id) continue;
    return json_answer(eleven ? eleven_voice(voice, speaker) : cartesia_voice(voice, speaker));
  }
  return reply_of({.status = 404,
                   .message = concat("There is no voice '", id.substr(0, 200), "'."),
                   .param = "voice",
                   .code = "voice_not_found"});
}

}  // namespace syrinx
