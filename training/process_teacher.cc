// The teacher of the Python package hibari-tts: libflite's front end, and hibari's network in
// another process (hibari_voice.py, which specifies the protocol). So phones and times are those of
// finch's front end.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "families/finch/questions.h"
#include "teacher.h"

extern "C" cst_voice* register_cmu_us_slt(const char* directory);

namespace {

using syrinx::finch::PhoneSymbol;

constexpr int kNetworkRate = 24000;

cst_utterance* no_wave(cst_utterance* utterance) { return utterance; }

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "synth: %s\n", what.c_str());
  std::exit(1);
}

std::vector<std::string> feature_of_all(const cst_utterance* utterance, const char* relation,
                                        const char* feature) {
  std::vector<std::string> values;
  cst_relation* items = utt_relation(const_cast<cst_utterance*>(utterance), relation);
  for (const cst_item* item = relation_head(items); item; item = item_next(item)) {
    const bool has = item_feat_present(item, feature);
    values.emplace_back(has ? item_feat_string(item, feature) : "");
  }
  return values;
}

/// Returns the mark of a pause inside a sentence: the punctuation after the previous token, or a
/// comma.
std::string pause_mark(const std::vector<std::string>& punctuation, int token) {
  for (const char c : token >= 0 ? punctuation[token] : std::string{}) {
    if (std::strchr(",;:", c)) return {c};
  }
  return ",";
}

/// Returns the mark at the end of a sentence.
std::string end_mark(const std::string& text) {
  const size_t at = text.find_last_of(".!?");
  return at == std::string::npos ? "." : text.substr(at, 1);
}

/// Returns one line for hibari_voice.py: the speed, then `|WORD` before the phones of each word,
/// and marks. `/` at the end requests a rising pitch.
std::string request_line(const Line& line, bool rising, const std::vector<PhoneSymbol>& stream,
                         const std::vector<std::string>& words,
                         const std::vector<std::string>& punctuation) {
  std::string out = std::to_string(line.speed);
  int word = -1, token = -1;
  for (size_t i = 0; i < stream.size(); ++i) {
    const PhoneSymbol& symbol = stream[i];
    if (symbol.word < 0) {
      const bool first = i == 0, last = i + 1 == stream.size();
      out += ' ' + (first ? "^" : last ? end_mark(line.text) : pause_mark(punctuation, token));
      continue;
    }
    if (symbol.word != word) out += " |" + words[symbol.word];
    word = symbol.word, token = symbol.token;
    out += ' ' + std::string(syrinx::finch::phone_names()[symbol.phone]);
  }
  return out + (rising ? " /\n" : "\n");
}

/// Runs a script of this folder as a child process that reads lines and writes numbers.
class VoiceProcess {
 public:
  VoiceProcess(const std::string& script, const std::string& voice) : script_(script) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) fail("cannot open pipes to " + script_);
    const char* named = std::getenv("PYTHON");
    const char* python = named ? named : "python3";
    const char* folder = std::getenv("FINCH_TRAINING");
    const std::string path = std::string(folder ? folder : "training") + '/' + script_;
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1);
      for (const int end : {in[0], in[1], out[0], out[1]}) close(end);
      execlp(python, python, path.c_str(), voice.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    to_ = fdopen(in[1], "w"), from_ = fdopen(out[0], "r");
    if (child_ < 0 || !to_ || !from_) fail("cannot start " + script_);
  }
  VoiceProcess(const VoiceProcess&) = delete;
  ~VoiceProcess() {
    std::fclose(to_), std::fclose(from_);
    waitpid(child_, nullptr, 0);
  }

  void ask(const std::string& line) {
    if (std::fputs(line.c_str(), to_) < 0 || std::fflush(to_) != 0) fail(script_ + " ended");
  }

  /// Reads a list: a count, followed by this many numbers.
  template <typename T>
  std::vector<T> read_list() {
    int count = 0;
    if (std::fread(&count, sizeof count, 1, from_) != 1) fail(script_ + " ended");
    std::vector<T> values(static_cast<size_t>(count));
    if (std::fread(values.data(), sizeof(T), values.size(), from_) != values.size()) {
      fail(script_ + " ended within an answer");
    }
    return values;
  }

 private:
  std::string script_;
  pid_t child_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

class ProcessTeacher : public Teacher {
 public:
  ProcessTeacher(const std::string& script, const std::string& voice)
      : front_(register_cmu_us_slt(nullptr)), process_(script, voice) {
    feat_set(front_->features, "wave_synth_func", uttfunc_val(no_wave));
  }

  Spoken speak(const Line& line) override {
    cst_utterance* utterance = flite_synth_text(line.text.c_str(), front_);
    if (!utterance) return {};
    const bool rising = syrinx::finch::tune_of(line.text).rises;
    Spoken spoken;
    spoken.stream = syrinx::finch::phone_stream(utterance, rising);
    const auto words = feature_of_all(utterance, "Word", "name");
    const auto punctuation = feature_of_all(utterance, "Token", "punc");
    delete_utterance(utterance);
    if (spoken.stream.size() < 3) return {};
    process_.ask(request_line(line, rising, spoken.stream, words, punctuation));
    spoken.samples = process_.read_list<float>();
    for (const float end : process_.read_list<float>()) spoken.ends.push_back(end);
    spoken.pitch = process_.read_list<int>();
    return spoken;
  }

 private:
  cst_voice* front_;
  VoiceProcess process_;
};

}  // namespace

std::unique_ptr<Teacher> open_process_teacher(const std::string& name, int rate) {
  if (rate != kNetworkRate) fail(name + " speaks at 24000 Hz only");
  const size_t colon = std::min(name.find(':'), name.size());
  const std::string script = name.substr(0, colon);
  const std::string voice = name.substr(std::min(colon + 1, name.size()));
  if (!voice.empty()) return std::make_unique<ProcessTeacher>(script + "_voice.py", voice);
  if (script != "hibari") fail(name + ": expected kokoro:VOICE, as in kokoro:af_heart");
  return std::make_unique<ProcessTeacher>("hibari_voice.py", "100:0");
}
