// One request's client: its sink, what it was given, and the clocks of its listener and reader.
// Engine thread only.
//
// Invariants (CONTRACT.md, I6, I14):
// - the sink gets exactly one finished(), and nothing after it: then open() is false;
// - a listener plays from the first samples on, at the speed of playback; a chunk that comes after
//   the listener has run dry moves the clock on by what was missing, so that slack_s() counts from
//   there;
// - a chunk counts as late only where the engine had all it needed for it in time: not after a wait
//   for the client's text, and not for a request in the background.
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

/// How far a listener or a reader is behind the delivered output.
struct Pace {
  double since_s = 0;  ///< when it could start, moved on by every wait
  double given_s = 0;  ///< playing or reading time of what was delivered
  /// Seconds until it runs dry.
  double slack_s(double now) const { return since_s + given_s - now; }
  /// It waits when it has run dry, and goes on from here.
  void wait(double now) { since_s += std::max(0.0, -slack_s(now)); }
};

/// Sends one request's samples and text to its sink and keeps the clocks.
class Output {
 public:
  /// `now`: when the request was submitted. The model outlives it.
  Output(ResidentModel& model, std::shared_ptr<Sink> sink, const SpeechRequest& request,
         double now);
  /// The request has an id; `trace` may be null.
  void accept(RequestId id, TraceLog* trace);

  bool open() const { return sink_ != nullptr; }
  Outcome& outcome() { return outcome_; }
  const Outcome& outcome() const { return outcome_; }
  double waited_s(double now) const { return now - submitted_s_; }

  bool heard() const { return chunks_ > 0; }
  bool read() const { return tokens_read_ > 0; }
  bool background() const { return background_; }
  /// The request is paused: its reader has more than it takes.
  bool unread() const { return unread_; }
  /// Frames of the first chunk that the client asked for; 0: as learned.
  int first_frames() const { return first_frames_; }
  int64_t tokens_read() const { return tokens_read_; }
  const Pace& listener() const { return listener_; }
  const Pace& reader() const { return reader_; }
  /// Whether its wait for a first output is the engine's doing, and not over.
  bool awaits_first_output() const { return counts_for_slowdown() && !heard() && !read(); }

  /// Whether it has been the only request since it got its seat.
  void set_alone(bool alone) { alone_ = alone; }
  /// No text is there: the next chunk comes when it comes. `client`: it waits for the
  /// client's text.
  void starve(bool client);
  /// A request in the background is heard and read from now on.
  void raise_priority(double now);
  /// Looks how much of the audio the client has taken.
  void look_at_reader(double now);
  /// The first of its steps is in a batch.
  void first_step(double now);

  /// Samples of a chunk, behind `silence_s` of silence. False: the audio has reached its bound.
  bool audio(std::span<const float> samples, double silence_s, double now);
  /// Silence, exact to the sample; not counted in the model's pace. False as above.
  bool silence(double seconds);
  /// Text of a step; `speaks`: the request is heard, too.
  void text(const StepOutput& out, bool speaks, double now);

  /// Marks so far.
  struct Marks {
    size_t words = 0, phones = 0;
  };
  Marks marks() const { return {outcome_.words.size(), outcome_.phones.size()}; }
  /// Passes warnings, and words since `before`, on. They and the phones are marks of the current
  /// part alone, which begins at `text_begin` of the text and behind `silence_s` of silence that is
  /// still to come: makes them those of the whole text and its audio.
  void notes(std::span<const std::string> warnings, Marks before, int64_t text_begin,
             double silence_s);
  /// A part of the text begins: its audio follows what was delivered.
  void begin_part();

  /// Ends the request: nothing comes behind it.
  void end(FinishReason reason, double now);

 private:
  bool counts_for_slowdown() const { return !background_ && !waited_for_; }
  void first_output(double seconds, double now);
  void later_chunk(double now);
  bool hand_over(std::span<const float> samples);

  ResidentModel& model_;
  std::shared_ptr<Sink> sink_;  ///< null: it has ended
  RequestId id_ = 0;
  TraceLog* trace_ = nullptr;
  const double submitted_s_;
  const int first_frames_;
  bool background_;
  Pace listener_, reader_;
  double part_began_s_ = 0;  ///< audio before the current part
  int chunks_ = 0;           ///< delivered
  int64_t tokens_read_ = 0;  ///< written, as far as the client has them
  bool starved_ = false;     ///< since the last chunk there was a time without text
  bool unread_ = false;
  bool alone_ = false;
  bool waited_for_ = false;  ///< its client let it wait for text
  Outcome outcome_;
};

}  // namespace syrinx
