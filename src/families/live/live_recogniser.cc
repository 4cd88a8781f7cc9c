#include "families/live/live_recogniser.h"

#include <utility>

#include "audio/resampler.h"

namespace syrinx {

void LiveRecogniser::join(const Heard& heard, const ChunkStage& encoder, const ChunkPolicy& policy,
                          const char* writer, const ArStage& stage) {
  heard_ = heard;
  const FrameType rows = encoder.out(), text{Flow::kText};
  graph_ = {{{.name = "encoder", .chunk = &encoder, .in = {}, .out = {}},
             {.name = writer, .ar = &stage, .in = {rows}, .out = {text}}},
            {{.from = {kClient}, .to = {0}, .policy = policy},
             {.from = {0}, .to = {1}},
             {.from = {1}, .to = {kClient}}}};
  info_.speaks = false;
  info_.writes = true;
  info_.speech.sample_rate = static_cast<int>(heard.rate);
  info_.speech.frame_rate = 1 / heard.row_s;
  info_.speech.no_cloning = "this model transcribes; it has no voices";
  info_.hearing.dictates_s = heard.longest_s;
  if (heard.longest_s > 0) return;
  info_.hearing.frame = static_cast<int>(heard.frame);
  info_.hearing.rate = static_cast<int>(heard.rate);
  info_.hearing.tail = static_cast<int>(heard.after);
}

SpeechRequest LiveRecogniser::ask(Hearing task) const {
  task.family = info_.family;
  task.model = this;
  SpeechRequest request;
  request.task = std::make_shared<Hearing>(std::move(task));
  return request;
}

Result<SpeechRequest> LiveRecogniser::listening(const OpenDictation& listening) const {
  if (heard_.longest_s > 0) return LoadedPipeline::listening(listening);
  Hearing task;
  task.delay = listening.live ? heard_.live_delay : heard_.delay;
  task.scores = listening.scores;
  return ask(std::move(task));
}

Result<Opened> LiveRecogniser::open(const SpeechRequest& request) const {
  if (!request.task) {
    return Error{ErrorCode::kUnsupported,
                 "this model only transcribes recordings; it does not accept text or messages",
                 request.writing.chat ? "messages" : "input"};
  }
  const auto task = std::dynamic_pointer_cast<Hearing>(request.task);
  if (!task || task->model != this) {
    return Error{ErrorCode::kInvalid, "the task belongs to another model", "task"};
  }
  Opened opened(sequence(*task));
  opened.samples_open = !task->recording;
  opened.samples.resize(static_cast<size_t>(heard_.before));
  if (!task->recording) return opened;
  const Recording& all = *task->recording;
  opened.samples = resampled(all.samples, all.sample_rate, static_cast<int>(heard_.rate));
  const auto frame = static_cast<size_t>(heard_.frame);
  opened.samples.resize((opened.samples.size() + frame - 1) / frame * frame);
  if (static_cast<double>(opened.samples.size()) <=
      heard_.longest_s * static_cast<double>(heard_.rate)) {
    return opened;
  }
  return Error{ErrorCode::kInvalid, concat("a recording is at most ", heard_.longest_s, " s long"),
               "file"};
}

void check_ids(const std::string& path, int64_t ids, int64_t most) {
  if (ids <= most) return;
  throw LoadError(
      concat(path, ": the tokenizer has ids up to ", ids - 1, ", but the model has only ", most));
}

}  // namespace syrinx
