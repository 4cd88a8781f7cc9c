// The output of one request: its sink, the amount of delivered output, and the clocks of its
// listener and reader. Engine thread only.
//
// Invariants (CONTRACT.md, I6, I14):
// - the sink gets exactly one finished() and no call after it; afterwards open() is false;
// - a listener is assumed to play in real time from the first samples on. When a chunk comes after
//   the listener has run dry, the listener's clock moves on by the gap;
// - a chunk counts as late only if the engine could have made it in time: not after a wait for the
// client's text, and never for a request in the background.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "engine/engine.h"
#include "engine/runs.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx {

struct ResidentModel;
class TraceLog;

/// The clock of a listener or a reader. slack_s() is the delivered output not yet played or read.
struct Pace {
  double since_s = 0;  ///< start time of the clock, plus the sum of all waits
  double given_s = 0;  ///< seconds of playing or reading time of the delivered output
  /// Returns the seconds until the listener or reader runs dry.
  double slack_s(double now) const { return since_s + given_s - now; }
  /// Adds the wait until `now`, if the listener or reader has run dry.
  void wait(double now) { since_s += std::max(0.0, -slack_s(now)); }
};

/// Sends one request's samples and text to its sink and keeps the clocks.
class Output {
 public:
  /// `now`: time of submission. The model must outlive this object.
  Output(ResidentModel& model, std::shared_ptr<Sink> sink, const SpeechRequest& request,
         double now);
  /// Sets the request's id; `trace` may be null.
  void accept(RequestId id, TraceLog* trace);

  bool open() const { return sink_ != nullptr; }
  Outcome& outcome() { return outcome_; }
  const Outcome& outcome() const { return outcome_; }
  double waited_s(double now) const { return now - submitted_s_; }

  bool heard() const { return chunks_ > 0; }
  bool read() const { return tokens_read_ > 0; }
  bool background() const { return background_; }
  /// Returns whether the request is paused because its client has too much unread audio.
  bool unread() const { return unread_; }
  /// Returns the frames of the first chunk that the client asked for. 0 means the learned size.
  int first_frames() const { return first_frames_; }
  int64_t tokens_read() const { return tokens_read_; }
  const Pace& listener() const { return listener_; }
  const Pace& reader() const { return reader_; }
  /// Returns whether the client waits for its first output, and the model does not wait for text.
  bool awaits_first_output() const { return counts_for_slowdown() && !heard() && !read(); }

  /// Sets whether this has been the only request since it got its seat.
  void set_alone(bool alone) { alone_ = alone; }
  /// Records that text is missing, so that the next chunk does not count as late. `client`: the
  /// client has not sent the missing text yet.
  void starve(bool client);
  /// Makes a request in the background live. The clocks of its listener and reader start now.
  void raise_priority(double now);
  /// Asks the sink how much audio is unread, and pauses or resumes the request.
  void look_at_reader(double now);
  /// Records that the request's first step is in a batch.
  void first_step(double now);

  /// Sends `silence_s` of silence, then the samples of a chunk. Returns false when the audio has
  /// reached max_audio_s.
  bool audio(std::span<const float> samples, double silence_s, double now);
  /// Sends silence, exact to the sample, which does not count as the model's output. Returns false
  /// when the audio has reached max_audio_s.
  bool silence(double seconds);
  /// Sends the text of a step; `speaks`: the request is also heard.
  void text(const StepOutput& out, bool speaks, double now);

  /// Numbers of word and phone marks.
  struct Marks {
    size_t words = 0, phones = 0;
  };
  Marks marks() const { return {outcome_.words.size(), outcome_.phones.size()}; }
  /// Sends the ids and warnings of a step, and the words after the `before` marks. Makes the marks
  /// of words and phones count from the beginning of the request instead of the current part.
  /// `text_begin`: offset of the part in the text. `silence_s`: silence before the part that was
  /// not sent yet.
  void notes(const StepOutput& out, Marks before, int64_t text_begin, double silence_s);
  /// Begins a part of the text. Its audio follows the delivered audio.
  void begin_part();

  /// Ends the request: calls finished().
  void end(FinishReason reason, double now);

 private:
  bool counts_for_slowdown() const { return !background_ && !waited_for_; }
  void first_output(double seconds, double now);
  void later_chunk(double now);
  bool hand_over(std::span<const float> samples);

  ResidentModel& model_;
  std::shared_ptr<Sink> sink_;  ///< null: the request has ended
  RequestId id_ = 0;
  TraceLog* trace_ = nullptr;
  const double submitted_s_;
  const int first_frames_;
  bool background_;
  Pace listener_, reader_;
  double part_began_s_ = 0;  ///< seconds of audio before the current part
  int chunks_ = 0;           ///< delivered chunks
  int64_t tokens_read_ = 0;  ///< tokens whose text was delivered
  bool starved_ = false;     ///< text has been missing since the last chunk
  bool unread_ = false;
  bool alone_ = false;
  bool waited_for_ = false;  ///< the request has waited for its client's text
  Outcome outcome_;
};

}  // namespace syrinx
