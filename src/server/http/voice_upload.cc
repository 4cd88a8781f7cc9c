#include "server/http/voice_upload.h"

#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/file.h"
#include "server/http/server_state.h"
#include "server/models/backend.h"
#include "server/net/connection.h"
#include "server/net/multipart.h"
#include "server/net/run_on.h"
#include "server/voices/voice_desk.h"
#include "server/voices/voice_objects.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxEmbeddingBytes = 256 << 10;

class VoiceChange {
 public:
  VoiceChange(ServerState& server, std::shared_ptr<Connection> connection, VoiceExchange& exchange)
      : server_(server),
        connection_(std::move(connection)),
        exchange_(exchange),
        desk_(*server.voices),
        store_(*desk_.store()),
        wakeup_(std::make_shared<Wakeup>(server.io)) {
    ++server_.streams;
    connection_->watch(wakeup_);
  }
  ~VoiceChange() {
    connection_->unwatch();
    --server_.streams;
    fetch_.reset();
    // A model that was unloaded may be destroyed here, which takes time.
    if (backend_) run_later(server_.worker, [backend = std::move(backend_)] {});
  }
  VoiceChange(const VoiceChange&) = delete;
  VoiceChange& operator=(const VoiceChange&) = delete;

  net::awaitable<Reply> run();

 private:
  net::awaitable<void> add();
  net::awaitable<void> find_model();
  /// Runs a member function on the worker thread. An exception becomes the error of the answer.
  net::awaitable<void> work(void (VoiceChange::*task)());
  void read_form();
  void read_model();
  void remove();
  void add_consent();
  void begin_voice();
  void end_voice();
  void keep_embedding(const std::string& json);
  std::string field(const char* name) const;
  const FormPart* part(const char* name) const;
  void fail(ApiError error) {
    if (!reply_) reply_ = reply_of(error);
  }
  void fail(const Error& error) {
    if (error.code == ErrorCode::kInternal) trouble_ = error.message;
    fail(to_api_error(error));
  }
  void answer(const StoredVoice& voice, std::vector<std::string> remarks);

  ServerState& server_;
  const std::shared_ptr<Connection> connection_;
  VoiceExchange& exchange_;
  VoiceDesk& desk_;
  VoiceStore& store_;
  const std::shared_ptr<Wakeup> wakeup_;
  std::vector<FormPart> form_;
  std::shared_ptr<Backend> backend_;
  NewVoice wish_;
  std::shared_ptr<VoiceSource> source_;
  std::unique_ptr<VoiceFetch> fetch_;
  std::optional<Reply> reply_;
  std::string trouble_;
};

net::awaitable<void> VoiceChange::work(void (VoiceChange::*task)()) {
  const auto guarded = [this, task] {
    try {
      (this->*task)();
    } catch (const std::exception& error) {
      fail(Error{ErrorCode::kInternal, error.what()});
    }
  };
  co_await run_on(server_.worker, guarded);
}

net::awaitable<Reply> VoiceChange::run() {
  switch (exchange_.route.kind) {
    case VoiceRoute::kAdd:
      co_await add();
      break;
    case VoiceRoute::kAddConsent:
      co_await work(&VoiceChange::add_consent);
      break;
    case VoiceRoute::kRemove:
    case VoiceRoute::kRemoveConsent:
      co_await work(&VoiceChange::remove);
      break;
  }
  if (!trouble_.empty()) server_.log("voices failed: " + trouble_);
  if (!reply_) fail(unavailable("The client has disconnected."));
  co_return std::move(*reply_);
}

// ---------------------------------------------------------------------------- forms

const FormPart* VoiceChange::part(const char* name) const {
  for (const FormPart& each : form_) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string VoiceChange::field(const char* name) const {
  const FormPart* found = part(name);
  return found == nullptr ? "" : std::string(found->data);
}

void VoiceChange::read_form() {
  auto form = parse_multipart(exchange_.body, exchange_.content_type);
  if (auto* fault = std::get_if<ApiError>(&form)) return fail(std::move(*fault));
  form_ = std::move(std::get<std::vector<FormPart>>(form));
}

void VoiceChange::add_consent() {
  read_form();
  if (reply_) return;
  const FormPart* file = part("recording");
  if (file == nullptr) return fail(bad_field("recording", "The form must have a 'recording'."));
  const auto audio = read_recording(file->data, desk_.recordings());
  if (!audio) {
    Error error = audio.error();
    error.param = "recording";
    return fail(error);
  }
  const auto consent = store_.add_consent(field("name"), field("language"), audio.value());
  if (!consent) return fail(consent.error());
  reply_ = json_reply(consent_object(consent.value()));
}

void VoiceChange::remove() {
  const std::string& name = exchange_.route.name;
  const bool consent = exchange_.route.kind == VoiceRoute::kRemoveConsent;
  const Status removed = consent ? store_.remove_consent(name) : store_.remove(name);
  if (!removed) {
    ApiError error = to_api_error(removed.error());
    if (removed.error().code == ErrorCode::kNotFound) error.status = 404;
    return fail(std::move(error));
  }
  const char* kind = consent ? "audio.voice_consent" : "audio.voice";
  reply_ = json_reply({{"object", concat(kind, ".deleted")},
                       {"id", consent ? name : voice_id(name)},
                       {"deleted", true},
                       {"success", true}});
}

// ---------------------------------------------------------------------------- a voice

net::awaitable<void> VoiceChange::add() {
  co_await work(&VoiceChange::read_form);
  if (reply_) co_return;
  co_await find_model();
  if (reply_) co_return;
  co_await work(&VoiceChange::begin_voice);
  if (reply_) co_return;
  std::optional<Status> status = fetch_->status();
  while (!status && !connection_->gone()) {
    co_await wakeup_->wait();
    status = fetch_->status();
  }
  if (!status) co_return;
  if (!*status) {
    Error error = status->error();
    if (error.param == "ref_audio") error.param = "audio_sample";
    fail(error);
  } else {
    co_await work(&VoiceChange::end_voice);
  }
}

void VoiceChange::read_model() {
  auto found = server_.models->find(field("model"));
  if (!found) return fail(found.error());
  backend_ = found.take();
}

/// Finds the model named in the form, or the first one; loads it if necessary.
net::awaitable<void> VoiceChange::find_model() {
  co_await work(&VoiceChange::read_model);
  if (reply_ || backend_) co_return;
  const auto load = [this] {
    auto loaded = server_.models->load(field("model"));
    if (!loaded) return fail(loaded.error());
    backend_ = loaded.take();
  };
  co_await run_on(server_.loader, load);
}

void VoiceChange::begin_voice() {
  const PipelineInfo& info = backend_->info();
  wish_ = {.name = field("name"),
           .text = field("ref_text"),
           .mode = field("ref_mode"),
           .consent = field("consent"),
           .description = field("speaker_description"),
           .replace = field("replace") == "true"};
  const std::string id = voice_id(wish_.name);
  if (id.empty() || wish_.name.find_first_of("+()") != std::string::npos) {
    return fail(bad_field("name",
                          "The form must have a 'name' with a letter or digit, at most 64 "
                          "bytes, without '+', '(' or ')'."));
  }
  if (find_own_voice(info, wish_.name) || find_own_voice(info, id)) {
    return fail(
        ApiError{.status = 409,
                 .message = concat("'", id, "' is a voice of the model '", info.model, "'."),
                 .param = "name",
                 .code = "voice_exists"});
  }
  if (!wish_.replace && store_.find(id)) {
    return fail(
        ApiError{.status = 409,
                 .message = concat("There is a voice called '", id,
                                   "' already; delete it first, or send 'replace': 'true'."),
                 .param = "name",
                 .code = "voice_exists"});
  }
  if (wish_.consent.starts_with("cons_") && !store_.find_consent(wish_.consent)) {
    return fail(bad_field("consent", concat("Unknown consent '", shown(wish_.consent, 80),
                                            "'; create it by POST /v1/audio/voice_consents.")));
  }
  if (const FormPart* embedding = part("speaker_embedding")) {
    return keep_embedding(std::string(embedding->data));
  }
  const FormPart* file = part("audio_sample");
  if (file == nullptr) {
    return fail(bad_field("audio_sample", "The form must have a recording, 'audio_sample'."));
  }
  if (backend_->voice_encoder() == nullptr) return fail(cannot_clone(info, "audio_sample"));
  source_ = std::make_shared<VoiceSource>();
  source_->audio = file->data;
  source_->text = wish_.text;
  source_->mode = wish_.mode;
  const std::string trim = field("ref_trim");
  if (!trim.empty() && trim != "true" && trim != "false") {
    return fail(bad_field("ref_trim", "'ref_trim' must be 'true' or 'false'."));
  }
  source_->trim = trim == "true";
  RecordingLimits limits = desk_.recordings();
  limits.trim = source_->trim;
  auto audio = read_recording(source_->audio, limits);  // decoded once, to be encoded and stored
  if (!audio) {
    Error error = audio.error();
    error.param = "audio_sample";
    return fail(error);
  }
  source_->decoded = std::make_shared<const RecordedAudio>(audio.take());
  std::vector<VoiceWish> wishes(1);
  wishes[0].source = source_;
  fetch_ = desk_.fetch(backend_, std::move(wishes), exchange_.client,
                       [wakeup = wakeup_] { wakeup->post(); });
}

void VoiceChange::keep_embedding(const std::string& json) {
  const bool small = json.size() <= kMaxEmbeddingBytes;
  const auto parsed = small ? ordered_json::parse(json, nullptr, false) : ordered_json();
  std::vector<float> values;
  if (parsed.is_array() && parsed.size() <= kMaxEmbedding) {
    for (const auto& number : parsed) {
      if (!number.is_number()) break;
      values.push_back(number.get<float>());
    }
  }
  if (values.empty() || values.size() != parsed.size()) {
    return fail(bad_field("speaker_embedding", concat("'speaker_embedding' must be a JSON list of "
                                                      "1 to ",
                                                      kMaxEmbedding, " numbers.")));
  }
  const auto voice = backend_->voice_of_embedding(values);
  if (!voice) return fail(voice.error());
  const auto stored = store_.add(wish_, voice.value());
  if (!stored) return fail(stored.error());
  answer(stored.value(), {});
}

/// Stores the encoded voice with its recording.
void VoiceChange::end_voice() {
  SpeechRequest made;
  fetch_->put(made);
  const RecordedAudio& audio = *source_->decoded;
  const auto stored = add_voice(store_, *backend_->voice_encoder(), wish_, audio, *made.voice.data);
  if (!stored) return fail(stored.error());
  answer(stored.value(), recording_remarks(audio));
}

void VoiceChange::answer(const StoredVoice& voice, std::vector<std::string> remarks) {
  ordered_json out = {{"object", "audio.voice"}, {"id", voice.id},
                      {"name", voice.name},      {"created_at", voice.created_s},
                      {"success", true},         {"voice", stored_voice_object(voice)}};
  if (!remarks.empty()) out["remarks"] = remarks;
  reply_ = json_reply(out);
}

}  // namespace

net::awaitable<Reply> answer_voice_change(ServerState& server,
                                          std::shared_ptr<Connection> connection,
                                          VoiceExchange& exchange) {
  VoiceChange change(server, std::move(connection), exchange);
  Reply reply = co_await change.run();
  co_return reply;
}

}  // namespace syrinx
