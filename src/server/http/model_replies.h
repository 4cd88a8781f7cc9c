// Replies about the models that the server has. Free functions; any thread. The table of
// models is there.
#pragma once

#include <string_view>

#include "server/http/server_view.h"
#include "server/request/reply.h"

namespace syrinx {

/// GET /v1/models: those that speak or write, and the recognisers.
Reply models_reply(const ServerView& server);
/// The same as ElevenLabs' clients expect it: the models that speak, in a bare list.
Reply elevenlabs_models_reply(const ServerView& server);
/// GET /v1/models/NAME, by every name that speech takes; names may hold slashes.
Reply model_reply(std::string_view name, const ServerView& server);
/// GET /v1/audio/models.
Reply audio_models_reply(const ServerView& server);
/// 404.
Reply no_such_model(std::string_view name);

}  // namespace syrinx
