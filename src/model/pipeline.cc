#include "model/pipeline.h"

#include <cmath>

#include "base/check.h"
#include "model/language.h"
#include "model/options.h"

namespace syrinx {
namespace {

Status check_voice(const PipelineInfo& info, const Voice* voice) {
  if (!voice || voice->family == info.family) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat("the voice was made for the family '", voice->family,
                      "', this model is of the family '", info.family, "'"),
               "voice"};
}

Status check_task(const PipelineInfo& info, const FamilyTask* task) {
  if (!task || task->family == info.family) return ok_status();
  return Error{ErrorCode::kInvalid,
               concat("the task was made for the family '", task->family,
                      "', this model is of the family '", info.family, "'"),
               "task"};
}

Status check_recordings(const PipelineInfo& info, const SpeechRequest& request) {
  double seconds = 0;
  for (const auto& recording : request.writing.recordings) seconds += recording->seconds();
  if (request.task || request.writing.recordings.empty() ||
      (info.hearing.seconds > 0 && seconds <= info.hearing.seconds))
    return ok_status();
  if (info.hearing.seconds == 0)
    return Error{ErrorCode::kUnsupported, "this model does not accept recordings", "messages"};
  return Error{ErrorCode::kInvalid,
               concat("the recordings last ", std::round(seconds), " s, the limit is ",
                      info.hearing.seconds, " s"),
               "messages"};
}

Status check_answers(const PipelineInfo& info, const SpeechRequest& request) {
  if (request.writing.answers.empty()) return ok_status();
  if (!info.writing.recalls)
    return Error{ErrorCode::kUnsupported, "this model accepts earlier answers only as text",
                 "messages"};
  for (const EarlierAnswer& each : request.writing.answers) {
    if (each.ids == nullptr || !(each.heard_s.value_or(0) >= 0))
      return Error{ErrorCode::kInvalid, "an earlier answer lacks ids or has heard_s below 0",
                   "messages"};
  }
  return ok_status();
}

Status check_mix(const PipelineInfo& info, const std::vector<VoiceShare>& mix) {
  if (!mix.empty() && !info.speech.mixes) {
    return Error{ErrorCode::kUnsupported, "this model does not mix voices", "voice"};
  }
  for (const VoiceShare& share : mix) {
    if (!(share.weight > 0) || !std::isfinite(share.weight)) {
      return Error{ErrorCode::kInvalid, "the weight of a voice in a mix must be above 0", "voice"};
    }
    if (Status fault = check_voice(info, share.data.get()); !fault) return fault;
  }
  return ok_status();
}

}  // namespace

Result<Voice> Pipeline::voice_of_embedding(std::span<const float>) const {
  return Error{ErrorCode::kUnsupported, "this model does not accept speaker embeddings",
               "speaker_embedding"};
}

Result<SpeechRequest> Pipeline::listening(const OpenDictation&) const {
  return Error{ErrorCode::kUnsupported, "this model does not transcribe live recordings", "model"};
}

Result<SpeechRequest> Pipeline::dictation(const Dictation&) const {
  return Error{ErrorCode::kUnsupported, "this model does not transcribe recordings", "model"};
}

Status check_request(const PipelineInfo& info, const SpeechRequest& request) {
  if (request.say.text.size() > info.max_text_bytes) {
    return Error{ErrorCode::kInvalid,
                 concat("the text has ", request.say.text.size(), " bytes, the limit is ",
                        info.max_text_bytes),
                 "input"};
  }
  if (request.say.open && info.speech.late_text == LateText::kNone) {
    return Error{ErrorCode::kUnsupported,
                 concat("the model '", info.model, "' needs the whole text at once"), "input"};
  }
  if (request.writing.expected.size() > info.max_text_bytes) {
    return Error{ErrorCode::kInvalid,
                 concat("the expected answer has ", request.writing.expected.size(),
                        " bytes, the limit is ", info.max_text_bytes),
                 "prediction"};
  }
  if (request.writing.chat && !info.writes) {
    return Error{ErrorCode::kUnsupported, "this model speaks; it does not answer messages",
                 "messages"};
  }
  if (request.writing.chat && !request.writing.chat->must_call.empty() &&
      !info.writing.calls_tools) {
    return Error{ErrorCode::kUnsupported, "this model cannot be required to call a tool",
                 "tool_choice"};
  }
  if (request.writing.chat && !request.writing.chat->schema.empty() && !info.writing.writes_json) {
    return Error{
        ErrorCode::kUnsupported,
        "this model cannot be required to write JSON; 'response_format' may have the type 'text'",
        "response_format"};
  }
  for (const std::string& stop : request.writing.stop) {
    if (stop.empty()) return Error{ErrorCode::kInvalid, "a stop string is empty", "stop"};
  }
  if (Status fault = check_task(info, request.task.get()); !fault) return fault;
  if (Status fault = check_recordings(info, request); !fault) return fault;
  if (Status fault = check_answers(info, request); !fault) return fault;
  if (!request.say.context.empty() && !info.speech.context) {
    return Error{ErrorCode::kUnsupported,
                 "this model does not accept earlier turns of a conversation", "context"};
  }
  if (const auto language = read_language(info, request.say.language); !language) {
    return language.error();
  }
  if (Status fault = check_options(info, request); !fault) return fault;
  if (Status fault = check_mix(info, request.voice.mix); !fault) return fault;
  for (const ContextTurn& turn : request.say.context) {
    if (Status fault = check_voice(info, turn.recording.get()); !fault) return fault;
  }
  return check_voice(info, request.voice.data.get());
}

}  // namespace syrinx
