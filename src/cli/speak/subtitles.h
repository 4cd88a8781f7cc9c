// Subtitles from the times of words. Free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/sequence.h"

namespace syrinx {

/// SubRip text: cues of at most 42 characters or one sentence. frame_rate in frames a second,
/// audio_s ends the last cue. Marks outside the text are skipped.
std::string to_srt(std::string_view text, std::span<const WordMark> words, double frame_rate,
                   double audio_s);

/// One line per word or phone: when it begins, in seconds, and what it is.
std::string word_lines(std::string_view text, std::span<const WordMark> words, double frame_rate);
/// One line per phone, as for words; frame_rate in frames a second.
std::string phone_lines(std::span<const PhoneMark> phones, double frame_rate);

}  // namespace syrinx
