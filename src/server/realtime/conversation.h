// The items of a conversation in the Realtime API, in order: what clients create, say and fetch,
// and what is answered; and the messages that a text model is given of them. Bounded. One thread.
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

/// A part of a message: text that was written or will be read, or something said with its
/// transcript.
struct ItemPart {
  enum Kind { kInputText, kInputAudio, kOutputText, kOutputAudio };
  Kind kind = kInputText;
  std::string text = {};  ///< or transcript
  bool pending = false;   ///< the transcript is on its way
  bool known = true;      ///< the transcript may be sent
  /// What was said, as far as it is kept: 16-bit samples at kHearingRate of a client, bytes of
  /// `format` of an answer.
  std::vector<int16_t> samples = {};
  std::string bytes = {};
  RealtimeFormat format = {};
  double audio_s = 0;  ///< of an answer, made so far
  bool whole = false;  ///< and that is all of it
  bool cut = false;    ///< truncated: nothing is added any more
  bool kept = true;    ///< `bytes` are all of it
  /// Where words of an answer begin to sound; (bytes of `text` up to their end, seconds).
  std::vector<std::pair<size_t, double>> words = {};
  /// The answer as the model made it, as far as that is kept; not of one that was cut before.
  std::vector<int32_t> ids = {};
  std::optional<double> heard_s = {};  ///< where it was cut
  double speed = 1;   ///< of an answer: seconds of it, as it was made, that are played in 1 s
  bool read = false;  ///< of what was said: models get its transcript, not its sound
};

/// A message, a call of a tool, or what it gave.
struct RealtimeItem {
  enum Kind { kMessage, kCall, kOutput };
  std::string id = {};
  Kind kind = kMessage;
  std::string status = "completed";
  std::string role = {};             ///< of a message: system, user or assistant
  std::vector<ItemPart> parts = {};  ///< of a message
  std::string call_id = {}, name = {}, arguments = {}, output = {};  ///< of calls and outputs
  bool left_out = false;  ///< there was no room for it in a prompt, and it is read no more

  bool pending() const;
};

/// Reads an item that a client sends; its id may be empty. Audio in it is decoded as `format` and
/// left as samples at kHearingRate, its transcript pending where none came along. Throws ApiError,
/// also of audio that is longer than a conversation keeps.
RealtimeItem read_item(const JsonFields& fields, RealtimeFormat format);
/// There is one of this id already.
ApiError taken_id(const std::string& id);
/// Returns it as events have it. Audio only where that is asked for.
JsonOut item_object(const RealtimeItem& item, bool with_audio = false, RealtimeFormat input = {});

/// Cuts an answer to what was heard in `heard_s` seconds, by the times of its words; where they are
/// not known, by its share of the characters (or, where not all of it was made, by how fast people
/// speak), at a word's end. False: more than was made.
bool truncate_part(ItemPart& part, double heard_s);

class Conversation {
 public:
  static constexpr size_t kMaxItems = 2000;
  static constexpr size_t kMaxTextBytes = size_t{1} << 20;
  /// Six minutes of what was said are kept, and as many bytes of answers; the oldest goes first.
  static constexpr int kMaxAudio_s = 360;
  static constexpr size_t kMaxAudioBytes = size_t{kMaxAudio_s} * kHearingRate * sizeof(int16_t);
  /// Bytes of ids of answers as they were made that are kept; older answers are text.
  static constexpr size_t kMaxIdBytes = size_t{1} << 20;

  RealtimeItem* find(std::string_view id);
  const RealtimeItem* find(std::string_view id) const;
  /// Null where it is the first, or there is none.
  const std::string* previous(std::string_view id) const;
  const std::string* last() const { return items_.empty() ? nullptr : &items_.back().id; }
  /// After `previous`, "root" for the beginning, or at the end. Throws ApiError: the id is taken,
  /// `previous` unknown, the conversation full.
  RealtimeItem& add(RealtimeItem item, const std::optional<std::string>& previous = {});
  /// Whether a call of a tool has this id.
  bool has_call(std::string_view call_id) const;
  /// False: unknown.
  bool remove(std::string_view id);
  /// Whether a transcript is on its way.
  bool pending() const;
  /// Forgets the oldest audio and ids past their bounds.
  void bound_audio();
  /// Where what was said is longer than `most_s`, or in more pieces than a prompt takes, the oldest
  /// is read from now on, down to three quarters: so that prompts begin alike for a while.
  void hear_newest(double most_s);

  /// The answers whose ids are kept, by item.
  std::map<std::string, NamedAnswer> answers() const;
  /// What a chat model reads, as OpenAI's chat API has it. `heard`: said audio goes along as
  /// recordings, and answers that were heard by the ids of their items, for models that hear.
  /// `pending`: what is known of an item's transcript that is on its way; null: nothing.
  /// `items`: gets the last item of each message behind the instructions; may be null.
  JsonIn messages(const std::string& instructions, bool heard,
                  const std::function<std::string(const std::string& id)>& pending = {},
                  std::vector<std::string>* items = nullptr) const;
  /// From now on messages() begins behind this item.
  void leave_out(std::string_view last);
  bool empty() const { return items_.empty(); }

 private:
  std::list<RealtimeItem> items_;
};

/// A user's message that is a recording, as Conversation::messages() has them for models that hear.
JsonIn said_message(std::span<const int16_t> samples);
/// The flat tools of the Realtime API in the nested form of chats.
JsonIn chat_tools_of(const JsonIn& tools);
JsonIn chat_tool_choice_of(const JsonIn& choice);

}  // namespace syrinx
