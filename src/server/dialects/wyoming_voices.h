// The voices of all models as Wyoming's clients see them: listed in one list, and chosen from it by
// name, speaker and language. Free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/models/model_table.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// A voice of the list.
struct WyomingVoice {
  std::string name;  ///< unique in the list; a second voice of a name is called "MODEL/NAME"
  std::string description;
  std::string model;                   ///< name in the table
  std::string voice = {};              ///< of the model; empty: the model's usual one
  std::string family = {};             ///< of the model
  std::vector<std::string> languages;  ///< codes and tags, at least one
  std::vector<std::string> speakers = {};
};

/// Voices of every model that speaks and whose facts are known, in the order of the table: the
/// model's own, then those that are kept in the desk's store. `desk` may be null.
std::vector<WyomingVoice> wyoming_voices(const ModelTable& models, const VoiceDesk* desk);

/// What a client asks for; empty strings: it does not say.
struct WyomingWish {
  std::string voice = {}, speaker = {}, language = {};
};

/// A model of the table, and what it speaks with as the field "voice" of a request; empty: its
/// usual voice.
struct WyomingChoice {
  std::string model, voice;
};

/// The model that speaks: the one that has the listed voice; the one of that name; without a name
/// the first that speaks the language; else the first of the table, which knows aliases and mixes.
WyomingChoice choose_wyoming_voice(const ModelTable& models, const VoiceDesk* desk,
                                   const WyomingWish& wish);

}  // namespace syrinx
