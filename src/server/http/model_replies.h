// Replies about the models of the server, whose table must exist. Free functions; any thread.
#pragma once

#include <string_view>

#include "server/http/server_view.h"
#include "server/request/reply.h"

namespace syrinx {

/// Answers GET /v1/models: models that speak or write, and recognisers.
Reply models_reply(const ServerView& server);
/// Answers GET /v1/models in ElevenLabs' form: a list of the loaded models that speak.
Reply elevenlabs_models_reply(const ServerView& server);
/// Answers GET /v1/models/NAME. Speech requests accept the same names, also with slashes.
Reply model_reply(std::string_view name, const ServerView& server);
/// Answers GET /v1/audio/models.
Reply audio_models_reply(const ServerView& server);
/// Returns status 404.
Reply no_such_model(std::string_view name);

}  // namespace syrinx
