// Implements syrinx.h: checks arguments, calls the engine, reports errors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "audio/recording.h"
#include "audio/time_stretch.h"
#include "library/fault.h"
#include "library/loaded_model.h"
#include "library/speech.h"
#include "library/syrinx.h"
#include "model/option_text.h"
#include "model/voice_file.h"
#include "runtime/runtime.h"

struct syrinx_model {
  std::shared_ptr<syrinx::LoadedModel> loaded;
};
struct syrinx_voice {
  std::shared_ptr<const syrinx::Voice> voice;
};
struct syrinx_speech {
  std::unique_ptr<syrinx::Speech> speech;
};

namespace syrinx {
namespace {

constexpr double kLongWaitS = 1e6;
constexpr double kMaxWaitS = 60;
constexpr int kMinHz = 4000, kMaxHz = 192'000;

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

/// Copies a caller's struct, which may be that of an older or newer syrinx.h.
template <typename T>
Result<T> filled(const T* given, T defaults, const char* function) {
  if (given == nullptr) return defaults;
  if (given->size <= sizeof given->size) {
    return Error{ErrorCode::kInvalid,
                 std::string("the options have no size: initialise them with ") + function};
  }
  std::memcpy(&defaults, given, std::min(given->size, sizeof defaults));
  return defaults;
}

Error no_handle(const char* what) { return {ErrorCode::kInvalid, std::string(what) + " is NULL"}; }

/// Reads the names and values of syrinx_speech_options::more.
Status set_more(const char* const* more, SpeechRequest& request) {
  for (; more != nullptr && *more != nullptr; more += 2) {
    const std::string_view name = *more;
    if (more[1] == nullptr) {
      return Error{ErrorCode::kInvalid, "the option '" + std::string(name) + "' has no value"};
    }
    if (name == "voice" || name == "speed") {
      return Error{ErrorCode::kInvalid,
                   "'" + std::string(name) + "' is a field of syrinx_speech_options"};
    }
    if (Status fault = set_option(request, name, more[1]); !fault) return fault;
  }
  return ok_status();
}

Result<SpeechRequest> request_of(LoadedModel& model, const char* text,
                                 const syrinx_speech_options& options) {
  SpeechRequest request;
  request.say.text = text;
  request.say.open = options.text_open != 0;
  if (Status fault = set_more(options.more, request); !fault) return fault.error();
  if (options.language != nullptr) request.say.language = options.language;
  if (options.instructions != nullptr) request.say.instructions = options.instructions;
  const auto set = [](auto& to, auto value) {
    if (value >= 0) to = value;
  };
  set(request.sampling.temperature, options.temperature);
  set(request.sampling.top_p, options.top_p);
  set(request.sampling.repetition_penalty, options.repetition_penalty);
  set(request.sampling.guidance, options.guidance);
  set(request.sampling.top_k, options.top_k);
  if (options.seed != 0) request.sampling.seed = options.seed;
  if (options.speed < TimeStretch::kMinSpeed || !(options.speed <= TimeStretch::kMaxSpeed)) {
    return Error{ErrorCode::kInvalid, "speed must be from 0.25 to 4"};
  }
  const PipelineInfo& info = model.info();
  request.voice.speed = info.offers.of("speed")->nearest(options.speed);
  if (options.max_s < 0 || !(options.max_s <= kLongWaitS)) {
    return Error{ErrorCode::kInvalid, "max_s must be from 0 to 1000000"};
  }
  if (options.max_s > 0) {
    request.terms.max_frames =
        std::max(1, static_cast<int>(std::ceil(options.max_s * info.speech.frame_rate)));
  }
  if (options.learned != nullptr) {
    if (options.voice != nullptr) {
      return Error{ErrorCode::kInvalid, "give only one of voice and learned"};
    }
    request.voice.data = options.learned->voice;
  } else if (options.voice != nullptr && *options.voice != '\0') {
    if (auto status = model.choose_voice(options.voice, request); !status) return status.error();
  }
  return request;
}

Result<std::unique_ptr<Speech>> open_speech(syrinx_model* model, const char* text,
                                            const syrinx_speech_options* given) {
  if (model == nullptr) return no_handle("model");
  if (text == nullptr) return no_handle("text");
  const auto options = filled(given, syrinx_speech_defaults(), "syrinx_speech_defaults()");
  if (!options) return options.error();
  auto request = request_of(*model->loaded, text, options.value());
  if (!request) return request.error();
  const double speed = options.value().speed / request.value().voice.speed;
  return Speech::open(model->loaded, request.take(), speed);
}

/// Reports the result of a speech that has ended.
int report_end(const Outcome& outcome, syrinx_error* error) {
  if (outcome.reason == FinishReason::kCancelled) {
    return report(error, SYRINX_CANCELLED, "the speech was cancelled");
  }
  if (outcome.reason == FinishReason::kError) return report(error, outcome.error);
  return report(error, SYRINX_OK);
}

syrinx_voice* learn(syrinx_model& model, Recording recording, syrinx_error* error) {
  auto voice = model.loaded->learn(std::move(recording));
  if (!voice) return report(error, voice.error()), nullptr;
  return new syrinx_voice{std::make_shared<const Voice>(voice.take())};
}

const PipelineInfo& info_of(const syrinx_model* model) { return model->loaded->info(); }

}  // namespace
}  // namespace syrinx

using namespace syrinx;  // NOLINT(google-build-using-namespace): C has no namespaces

extern "C" {

const char* syrinx_version(void) { return SYRINX_VERSION; }

syrinx_model* syrinx_load(const char* model, const syrinx_load_options* given,
                          syrinx_error* error) {
  return without_throwing(error, nullptr, [&]() -> syrinx_model* {
    if (model == nullptr) return report(error, no_handle("model")), nullptr;
    const auto filled_options = filled(given, syrinx_load_defaults(), "syrinx_load_defaults()");
    if (!filled_options) return report(error, filled_options.error()), nullptr;
    const syrinx_load_options& wish = filled_options.value();
    LoadOptions options;
    options.model = model;
    if (wish.weights != nullptr) options.weights = wish.weights;
    if (wish.device != nullptr) options.device = wish.device;
    if (wish.policy != nullptr) options.engine.policy = wish.policy;
    if (wish.threads != 0) options.engine.threads = wish.threads;
    if (wish.max_batch != 0) options.engine.max_batch = wish.max_batch;
    if (wish.max_open != 0) options.engine.max_requests = wish.max_open;
    options.engine.max_wait_s = wish.max_wait_s == 0 ? kMaxWaitS : wish.max_wait_s;
    const LoadedModel* beside = wish.beside == nullptr ? nullptr : wish.beside->loaded.get();
    return new syrinx_model{std::make_shared<LoadedModel>(std::move(options), beside)};
  });
}

void syrinx_unload(syrinx_model* model) { delete model; }

const char* syrinx_model_name(const syrinx_model* model) { return info_of(model).model.c_str(); }

const char* syrinx_model_family(const syrinx_model* model) { return info_of(model).family.c_str(); }

int syrinx_sample_rate(const syrinx_model* model) { return info_of(model).speech.sample_rate; }

uint32_t syrinx_traits(const syrinx_model* model) { return model->loaded->traits(); }

const char* syrinx_voice_name(const syrinx_model* model, size_t number) {
  const auto& voices = info_of(model).speech.voices;
  return number < voices.size() ? voices[number].id.c_str() : nullptr;
}

const char* syrinx_voice_description(const syrinx_model* model, size_t number) {
  const auto& voices = info_of(model).speech.voices;
  return number < voices.size() ? voices[number].description.c_str() : nullptr;
}

const char* syrinx_language_name(const syrinx_model* model, size_t number) {
  const auto& languages = info_of(model).speech.languages;
  return number < languages.size() ? languages[number].c_str() : nullptr;
}

syrinx_voice* syrinx_learn_voice(syrinx_model* model, const float* samples, size_t count,
                                 int sample_rate, const char* text, syrinx_error* error) {
  return without_throwing(error, nullptr, [&]() -> syrinx_voice* {
    if (model == nullptr) return report(error, no_handle("model")), nullptr;
    if (samples == nullptr || count == 0) return report(error, no_handle("samples")), nullptr;
    if (sample_rate < kMinHz || sample_rate > kMaxHz) {
      return report(error, SYRINX_INVALID, "sample_rate must be from 4000 to 192000"), nullptr;
    }
    Recording recording{
        .samples = {samples, samples + count}, .sample_rate = sample_rate, .text = text_of(text)};
    if (!std::all_of(samples, samples + count, [](float x) { return std::isfinite(x); })) {
      return report(error, SYRINX_INVALID, "the samples have NaN or infinity"), nullptr;
    }
    return learn(*model, std::move(recording), error);
  });
}

syrinx_voice* syrinx_learn_voice_file(syrinx_model* model, const char* path, const char* text,
                                      syrinx_error* error) {
  return without_throwing(error, nullptr, [&]() -> syrinx_voice* {
    if (model == nullptr) return report(error, no_handle("model")), nullptr;
    if (path == nullptr) return report(error, no_handle("path")), nullptr;
    auto audio = read_recording_file(path);
    if (!audio) return report(error, audio.error()), nullptr;
    return learn(*model,
                 {.samples = std::move(audio.value().samples),
                  .sample_rate = audio.value().sample_rate,
                  .text = text_of(text)},
                 error);
  });
}

int syrinx_save_voice(const syrinx_voice* voice, const char* path, const char* consent,
                      syrinx_error* error) {
  return without_throwing(error, SYRINX_LOAD, [&] {
    if (voice == nullptr) return report(error, no_handle("voice"));
    if (path == nullptr) return report(error, no_handle("path"));
    write_voice_file(path, *voice->voice, {.consent = text_of(consent)});
    return int{SYRINX_OK};
  });
}

syrinx_voice* syrinx_open_voice(const char* path, syrinx_error* error) {
  return without_throwing(error, nullptr, [&]() -> syrinx_voice* {
    if (path == nullptr) return report(error, no_handle("path")), nullptr;
    return new syrinx_voice{std::make_shared<const Voice>(read_voice_file(path).voice)};
  });
}

void syrinx_free_voice(syrinx_voice* voice) { delete voice; }

syrinx_speech* syrinx_open(syrinx_model* model, const char* text,
                           const syrinx_speech_options* options, syrinx_error* error) {
  return without_throwing(error, nullptr, [&]() -> syrinx_speech* {
    auto speech = open_speech(model, text, options);
    if (!speech) return report(error, speech.error()), nullptr;
    return new syrinx_speech{speech.take()};
  });
}

int syrinx_feed(syrinx_speech* speech, const char* text, int last, syrinx_error* error) {
  return without_throwing(error, SYRINX_INTERNAL, [&] {
    if (speech == nullptr) return report(error, no_handle("speech"));
    if (text == nullptr) return report(error, no_handle("text"));
    const auto status = speech->speech->feed(text, last != 0);
    return status ? int{SYRINX_OK} : report(error, status.error());
  });
}

const syrinx_chunk* syrinx_read(syrinx_speech* speech, double timeout_s, syrinx_error* error) {
  return without_throwing(error, nullptr, [&]() -> const syrinx_chunk* {
    if (speech == nullptr) return report(error, no_handle("speech")), nullptr;
    const double wait_s = timeout_s >= kLongWaitS ? -1 : timeout_s;
    if (const syrinx_chunk* chunk = speech->speech->read(wait_s)) return chunk;
    if (const auto& outcome = speech->speech->outcome())
      return report_end(*outcome, error), nullptr;
    return report(error, SYRINX_TIMEOUT, "no new audio arrived within the timeout"), nullptr;
  });
}

int syrinx_fd(syrinx_speech* speech) {
  return without_throwing(nullptr, -1,
                          [&] { return speech == nullptr ? -1 : speech->speech->fd(); });
}

void syrinx_cancel(syrinx_speech* speech) {
  if (speech == nullptr) return;
  without_throwing(nullptr, 0, [&] { return speech->speech->cancel(), 0; });
}

void syrinx_close(syrinx_speech* speech) { delete speech; }

const syrinx_outcome* syrinx_outcome_of(const syrinx_speech* speech) {
  return speech == nullptr ? nullptr : speech->speech->reported_outcome();
}

int syrinx_speak(syrinx_model* model, const char* text, const syrinx_speech_options* options,
                 syrinx_on_chunk on_chunk, void* user, syrinx_error* error) {
  return without_throwing(error, SYRINX_INTERNAL, [&]() -> int {
    if (on_chunk == nullptr) return report(error, no_handle("on_chunk"));
    if (options != nullptr && options->size > offsetof(syrinx_speech_options, text_open) &&
        options->text_open != 0) {
      return report(error, SYRINX_INVALID, "text_open needs syrinx_open(), not syrinx_speak()");
    }
    auto opened = open_speech(model, text, options);
    if (!opened) return report(error, opened.error());
    Speech& speech = *opened.value();
    while (const syrinx_chunk* chunk = speech.read(-1)) {
      if (on_chunk(user, chunk) != 0) {
        return report(error, SYRINX_CANCELLED, "the callback ended the speech");
      }
    }
    return report_end(*speech.outcome(), error);
  });
}

}  // extern "C"
