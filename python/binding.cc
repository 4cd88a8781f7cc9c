// What the Python package calls: syrinx.h as Python objects, no more. Waiting is done without the
// interpreter's lock; faults become the exceptions of syrinx/errors.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <syrinx.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

using Text = std::optional<std::string>;
using Samples = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr double kLookS = 0.1;  // how long a wait is, until Python looks for signals

const char* or_null(const Text& text) { return text ? text->c_str() : nullptr; }

[[noreturn]] void raise(const syrinx_error& error) {
  const nb::object fault = nb::module_::import_("syrinx.errors")
                               .attr("fault")(error.code, error.message, error.retry_after_s);
  PyErr_SetObject(fault.type().ptr(), fault.ptr());
  throw nb::python_error();
}

/// f(&error) without the interpreter's lock; raises what it told.
template <typename F>
auto unlocked(F f) {
  syrinx_error error;
  error.code = SYRINX_OK;
  const auto out = [&] {
    nb::gil_scoped_release unlock;
    return f(&error);
  }();
  if (error.code != SYRINX_OK) raise(error);
  return out;
}

class Voice {
 public:
  explicit Voice(syrinx_voice* voice) : voice_(voice) {}
  const syrinx_voice* get() const { return voice_.get(); }
  void save(const std::string& path, const Text& consent) const {
    unlocked([&](syrinx_error* error) {
      return syrinx_save_voice(get(), path.c_str(), or_null(consent), error);
    });
  }

 private:
  struct Free {
    void operator()(syrinx_voice* voice) const { syrinx_free_voice(voice); }
  };
  std::unique_ptr<syrinx_voice, Free> voice_;
};

class Speech {
 public:
  explicit Speech(syrinx_speech* speech) : speech_(speech) {}
  Speech(Speech&& other) noexcept : speech_(std::move(other.speech_)) {}

  void feed(const std::string& text, bool last) {
    unlocked([&](syrinx_error* error) {
      return syrinx_feed(speech_.get(), text.c_str(), last ? 1 : 0, error);
    });
  }
  void cancel() { syrinx_cancel(speech_.get()); }
  int fd() { return syrinx_fd(speech_.get()); }

  /// (samples, rate, begin_s, [(begin, end, at_s)]), or None at the end and when nothing came.
  nb::object read(double timeout_s) {
    if (reading_.exchange(true)) {
      throw nb::value_error("a speech is read by one thread at a time");
    }
    const std::unique_ptr<std::atomic<bool>, Release> held(&reading_);
    for (double left_s = timeout_s;; left_s -= kLookS) {
      const double wait_s = timeout_s < 0 ? kLookS : std::min(kLookS, std::max(0.0, left_s));
      syrinx_error error;
      const syrinx_chunk* chunk = nullptr;
      {
        nb::gil_scoped_release unlock;
        chunk = syrinx_read(speech_.get(), wait_s, &error);
      }
      if (chunk != nullptr) return told(*chunk);
      if (error.code == SYRINX_OK) return nb::none();
      if (error.code != SYRINX_TIMEOUT || !waiting()) raise(error);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (timeout_s >= 0 && left_s <= kLookS) return nb::none();
    }
  }

  /// (end, underruns, audio_s, first_audio_s, total_s), or None.
  nb::object outcome() const {
    const syrinx_outcome* told = syrinx_outcome_of(speech_.get());
    if (told == nullptr) return nb::none();
    return nb::make_tuple(told->end, told->underruns, told->audio_s, told->first_audio_s,
                          told->total_s);
  }

 private:
  struct Close {
    void operator()(syrinx_speech* speech) const { syrinx_close(speech); }
  };

  struct Release {
    void operator()(std::atomic<bool>* held) const { *held = false; }
  };

  /// The speech itself may have ended with a timeout.
  bool waiting() const { return syrinx_outcome_of(speech_.get()) == nullptr; }

  static nb::object told(const syrinx_chunk& chunk) {
    auto* copy = new std::vector<float>(chunk.samples, chunk.samples + chunk.count);
    const nb::capsule owner(
        copy, [](void* memory) noexcept { delete static_cast<std::vector<float>*>(memory); });
    nb::list words;
    for (size_t i = 0; i < chunk.word_count; ++i) {
      const syrinx_word& word = chunk.words[i];
      words.append(nb::make_tuple(word.begin, word.end, word.at_s));
    }
    const nb::ndarray<nb::numpy, float, nb::ndim<1>> samples(copy->data(), {copy->size()}, owner);
    return nb::make_tuple(samples, chunk.sample_rate, chunk.begin_s, words);
  }

  std::unique_ptr<syrinx_speech, Close> speech_;
  std::atomic<bool> reading_ = false;
};

class Model {
 public:
  Model(const std::string& model, const Text& weights, const Text& device, const Text& policy,
        int threads, int max_batch, int max_open, double max_wait_s, const Model* beside) {
    syrinx_load_options options = syrinx_load_defaults();
    options.weights = or_null(weights);
    options.device = or_null(device);
    options.policy = or_null(policy);
    options.threads = threads;
    options.max_batch = max_batch;
    options.max_open = max_open;
    options.max_wait_s = max_wait_s;
    options.beside = beside == nullptr ? nullptr : beside->model_.get();
    model_.reset(
        unlocked([&](syrinx_error* error) { return syrinx_load(model.c_str(), &options, error); }));
  }

  std::string name() const { return syrinx_model_name(model_.get()); }
  std::string family() const { return syrinx_model_family(model_.get()); }
  int sample_rate() const { return syrinx_sample_rate(model_.get()); }
  unsigned traits() const { return syrinx_traits(model_.get()); }
  nb::dict voices() const {
    nb::dict out;
    for (size_t i = 0; const char* name = syrinx_voice_name(model_.get(), i); ++i) {
      out[name] = syrinx_voice_description(model_.get(), i);
    }
    return out;
  }
  nb::list languages() const {
    nb::list out;
    for (size_t i = 0; const char* name = syrinx_language_name(model_.get(), i); ++i) {
      out.append(name);
    }
    return out;
  }

  Voice learn(const Samples& samples, int rate, const Text& text) {
    return Voice(unlocked([&](syrinx_error* error) {
      return syrinx_learn_voice(model_.get(), samples.data(), samples.size(), rate, or_null(text),
                                error);
    }));
  }
  Voice learn_file(const std::string& path, const Text& text) {
    return Voice(unlocked([&](syrinx_error* error) {
      return syrinx_learn_voice_file(model_.get(), path.c_str(), or_null(text), error);
    }));
  }

  Speech open(const std::string& text, bool text_open, const Text& voice, const Voice* learned,
              const Text& language, const Text& instructions, float speed,
              std::optional<float> temperature, std::optional<float> top_p,
              std::optional<int> top_k, std::optional<float> repetition_penalty,
              std::optional<float> guidance, uint64_t seed, double max_s) {
    syrinx_speech_options options = syrinx_speech_defaults();
    options.voice = or_null(voice);
    options.learned = learned == nullptr ? nullptr : learned->get();
    options.language = or_null(language);
    options.instructions = or_null(instructions);
    options.speed = speed;
    options.temperature = temperature.value_or(options.temperature);
    options.top_p = top_p.value_or(options.top_p);
    options.top_k = top_k.value_or(options.top_k);
    options.repetition_penalty = repetition_penalty.value_or(options.repetition_penalty);
    options.guidance = guidance.value_or(options.guidance);
    options.text_open = text_open ? 1 : 0;
    options.seed = seed;
    options.max_s = max_s;
    return Speech(unlocked([&](syrinx_error* error) {
      return syrinx_open(model_.get(), text.c_str(), &options, error);
    }));
  }

 private:
  struct Unload {
    void operator()(syrinx_model* model) const { syrinx_unload(model); }
  };
  std::unique_ptr<syrinx_model, Unload> model_;
};

Voice open_voice(const std::string& path) {
  return Voice(
      unlocked([&](syrinx_error* error) { return syrinx_open_voice(path.c_str(), error); }));
}

}  // namespace

NB_MODULE(_syrinx, m) {
  m.def("version", &syrinx_version);
  m.def("open_voice", &open_voice);
  nb::class_<Voice>(m, "Voice").def("save", &Voice::save, nb::arg(), nb::arg().none());
  nb::class_<Speech>(m, "Speech")
      .def("feed", &Speech::feed)
      .def("cancel", &Speech::cancel)
      .def("fd", &Speech::fd)
      .def("read", &Speech::read)
      .def("outcome", &Speech::outcome);
  nb::class_<Model>(m, "Model")
      .def(nb::init<const std::string&, const Text&, const Text&, const Text&, int, int, int,
                    double, const Model*>(),
           nb::arg("model"), nb::arg("weights").none(), nb::arg("device").none(),
           nb::arg("policy").none(), nb::arg("threads"), nb::arg("max_batch"), nb::arg("max_open"),
           nb::arg("max_wait_s"), nb::arg("beside").none())
      .def_prop_ro("name", &Model::name)
      .def_prop_ro("family", &Model::family)
      .def_prop_ro("sample_rate", &Model::sample_rate)
      .def_prop_ro("traits", &Model::traits)
      .def_prop_ro("voices", &Model::voices)
      .def_prop_ro("languages", &Model::languages)
      .def("learn", &Model::learn, nb::arg(), nb::arg(), nb::arg().none())
      .def("learn_file", &Model::learn_file, nb::arg(), nb::arg().none())
      .def("open", &Model::open, nb::arg("text"), nb::arg("text_open"), nb::arg("voice").none(),
           nb::arg("learned").none(), nb::arg("language").none(), nb::arg("instructions").none(),
           nb::arg("speed"), nb::arg("temperature").none(), nb::arg("top_p").none(),
           nb::arg("top_k").none(), nb::arg("repetition_penalty").none(),
           nb::arg("guidance").none(), nb::arg("seed"), nb::arg("max_s"));
}
