// The items of a conversation in the Realtime API, in order: a client's items and items of answers.
// Builds a chat model's messages from the items. Memory is bounded. Only one thread may use it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ears/recogniser.h"
#include "server/chat/chat_call.h"
#include "server/realtime/spoken_bytes.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// A part of a message: written text, or audio with its transcript.
struct ItemPart {
  enum Kind { kInputText, kInputAudio, kOutputText, kOutputAudio };
  Kind kind = kInputText;
  std::string text = {};  ///< text, or transcript of the audio
  bool pending = false;   ///< the transcript has not arrived yet
  bool known = true;      ///< the client may see the transcript of its audio
  /// Kept audio: `samples` of a client (16 bits at kHearingRate), or `bytes` of an answer in
  /// `format`.
  std::vector<int16_t> samples = {};
  std::string bytes = {};
  RealtimeFormat format = {};
  double audio_s = 0;  ///< length of an answer's audio so far
  bool whole = false;  ///< audio_s is final
  bool cut = false;    ///< truncated: no more text or audio is added
  bool kept = true;    ///< `bytes` has all audio of the answer so far
  /// The words of an answer: (bytes of `text` up to the word's end, seconds at which it begins).
  std::vector<std::pair<size_t, double>> words = {};
  /// The ids of the answer as the model sampled them; empty if they are not kept.
  std::vector<int32_t> ids = {};
  std::optional<double> heard_s = {};  ///< seconds of an answer that were played, if truncated
  double speed = 1;                    ///< playback speed of an answer; 1 is the model's speed
  bool read = false;                   ///< models get the transcript of this audio, not the audio
};

/// A message, a tool call, or the result of a tool call.
struct RealtimeItem {
  enum Kind { kMessage, kCall, kOutput };
  std::string id = {};
  Kind kind = kMessage;
  std::string status = "completed";
  std::string role = {};             ///< role of a message: system, user or assistant
  std::vector<ItemPart> parts = {};  ///< parts of a message
  std::string call_id = {}, name = {}, arguments = {}, output = {};  ///< of a call or its result
  bool left_out = false;  ///< the item did not fit into a prompt; later prompts omit it, too

  bool pending() const;
};

/// Reads an item that a client sends; its id may be empty. Audio in `format` is decoded to samples
/// at kHearingRate; its transcript is pending unless the client sent one. Throws ApiError, also if
/// the audio is longer than a conversation keeps.
RealtimeItem read_item(const JsonFields& fields, RealtimeFormat format);
/// Returns the error for an id that another item already has.
ApiError taken_id(const std::string& id);
/// Returns the item as JSON for events; includes audio only if `with_audio` is set.
JsonOut item_object(const RealtimeItem& item, bool with_audio = false, RealtimeFormat input = {});

/// Cuts an answer at a word's end after `heard_s` seconds, by the times of its words. Without
/// times, cuts by the share of characters, or by the usual speed of speech if the answer is
/// incomplete. Returns false if `heard_s` exceeds the answer.
bool truncate_part(ItemPart& part, double heard_s);

class Conversation {
 public:
  static constexpr size_t kMaxItems = 2000;
  static constexpr size_t kMaxTextBytes = size_t{1} << 20;
  /// Keeps six minutes of client audio, and as many bytes of the answers' audio. Drops the oldest
  /// audio first.
  static constexpr int kMaxAudio_s = 360;
  static constexpr size_t kMaxAudioBytes = size_t{kMaxAudio_s} * kHearingRate * sizeof(int16_t);
  /// Most bytes of kept ids, over all answers. The ids of the oldest answers are dropped first.
  static constexpr size_t kMaxIdBytes = size_t{1} << 20;

  RealtimeItem* find(std::string_view id);
  const RealtimeItem* find(std::string_view id) const;
  /// Returns the id of the item before `id`; null if `id` is the first item or unknown.
  const std::string* previous(std::string_view id) const;
  const std::string* last() const { return items_.empty() ? nullptr : &items_.back().id; }
  /// Adds an item after `previous`. "root" means the beginning; without `previous`, the end. Throws
  /// ApiError if the id is taken, `previous` is unknown, or the conversation is full.
  RealtimeItem& add(RealtimeItem item, const std::optional<std::string>& previous = {});
  /// Returns whether a tool call has this id.
  bool has_call(std::string_view call_id) const;
  /// Removes an item; returns false if `id` is unknown.
  bool remove(std::string_view id);
  /// Returns whether a transcript is pending.
  bool pending() const;
  /// Drops the oldest audio and ids beyond their bounds.
  void bound_audio();
  /// Limits the client audio of later prompts to `most_s` seconds and kMaxRecordings recordings.
  /// Above a limit, replaces the oldest audio by transcripts until three quarters of both limits
  /// are reached. So the next few prompts begin with the same rows.
  void hear_newest(double most_s);

  /// Returns the answers whose ids are kept, by item.
  std::map<std::string, NamedAnswer> answers() const;
  /// Returns the messages for a chat model, as in OpenAI's chat API. `heard`: the model takes
  /// audio, so client audio becomes recordings, and spoken answers are references to item ids.
  /// `pending` returns the known part of an item's pending transcript; null means that none is
  /// known. `items` receives the last item of each message after the instructions; may be null.
  JsonIn messages(const std::string& instructions, bool heard,
                  const std::function<std::string(const std::string& id)>& pending = {},
                  std::vector<std::string>* items = nullptr) const;
  /// Makes messages() omit this item and all earlier items from now on.
  void leave_out(std::string_view last);
  bool empty() const { return items_.empty(); }

 private:
  std::list<RealtimeItem> items_;
};

/// Returns a user's message with a recording, as in Conversation::messages() for models that take
/// audio.
JsonIn said_message(std::span<const int16_t> samples);
/// Converts the flat tools of the Realtime API to the nested form of the chat API.
JsonIn chat_tools_of(const JsonIn& tools);
JsonIn chat_tool_choice_of(const JsonIn& choice);

}  // namespace syrinx
