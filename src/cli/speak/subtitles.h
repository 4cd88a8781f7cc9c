// Subtitles from the times of words. Free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/sequence.h"

namespace syrinx {

/// Returns SubRip text. A cue ends with its sentence, and before a word that would make it longer
/// than 42 characters. It has the punctuation of the text, without tags and signs of markup.
/// `frame_rate`: frames per second. `audio_s`: end of the last cue. Ignores marks outside the text.
std::string to_srt(std::string_view text, std::span<const WordMark> marks, double frame_rate,
                   double audio_s);

/// Returns a line for each word: the time of its start in seconds, and the word.
std::string word_lines(std::string_view text, std::span<const WordMark> words, double frame_rate);
/// Returns a line for each phone: the time of its start in seconds, and the phone.
std::string phone_lines(std::span<const PhoneMark> phones, double frame_rate);

}  // namespace syrinx
