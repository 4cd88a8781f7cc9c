// The voices of all models in one list for Wyoming's clients, and the choice by name, speaker and
// language. Free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/models/model_table.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// A voice of the list.
struct WyomingVoice {
  std::string name;  ///< unique in the list; another voice of the same name is called "MODEL/NAME"
  std::string description;
  std::string model;                   ///< name of the model in the table
  std::string voice = {};              ///< name in the model; empty for the model's default
  std::string family = {};             ///< family of the model
  std::vector<std::string> languages;  ///< codes and tags, at least one
  std::vector<std::string> speakers = {};
};

/// Returns the voices of every model that speaks and whose facts are known, in the order of the
/// table: the model's own, then those of the desk's store. `desk` may be null.
std::vector<WyomingVoice> wyoming_voices(const ModelTable& models, const VoiceDesk* desk);

/// The voice that a client requests. A string is empty if the client omits it.
struct WyomingWish {
  std::string voice = {}, speaker = {}, language = {};
};

/// A model of the table, and the field "voice" of its request. Empty means its default voice.
struct WyomingChoice {
  std::string model, voice;
};

/// Chooses the model that speaks: the model with the requested voice, alias or first voice of a
/// mix; else the model whose name is requested as a voice. Without a voice, the first model with
/// the requested language. The first model of the table if none of these exists.
WyomingChoice choose_wyoming_voice(const ModelTable& models, const VoiceDesk* desk,
                                   const WyomingWish& wish);

}  // namespace syrinx
