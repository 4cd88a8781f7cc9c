// A recogniser with an encoder as a chunk node and a writer as an AR node. Graph: the client's
// samples -> "encoder" -> rows -> writer -> text. Each recording is one request. A family's class
// derives from it, and calls join() in its constructor.
#pragma once

#include <string>

#include "families/family.h"
#include "families/live/live_sequence.h"
#include "families/loading/loaded_pipeline.h"

namespace syrinx {

class LiveRecogniser : public LoadedPipeline {
 public:
  /// Opens a request whose task is a Hearing of this model.
  Result<Opened> open(const SpeechRequest& request) const final;
  /// Only for models that hear samples as they arrive (HearingFacts::frame).
  Result<SpeechRequest> listening(const OpenDictation& listening) const override;

 protected:
  /// The samples that the model hears.
  struct Heard {
    int64_t rate = 16000;  ///< samples per second
    int64_t frame = 160;   ///< samples in a frame of the encoder
    double row_s = 0.08;   ///< seconds of a row
    int64_t before = 0;    ///< samples of silence before a recording
    int64_t after = 0;     ///< samples of silence after a recording
    double longest_s = 0;  ///< longest recording of a model that needs whole ones; 0: it streams
    int delay = 0;         ///< Hearing::delay of a recording whose samples come at any speed
    int live_delay = 0;    ///< Hearing::delay of samples that arrive while they are spoken
  };
  /// Makes the graph, and sets the facts about what the model hears and writes. `writer`: the name
  /// of the AR node.
  void join(const Heard& heard, const ChunkStage& encoder, const ChunkPolicy& policy,
            const char* writer, const ArStage& stage);

  /// Makes the sequence of a recording.
  virtual std::unique_ptr<LiveSequence> sequence(const Hearing& task) const = 0;
  /// Makes the request of a task.
  SpeechRequest ask(Hearing task) const;

 private:
  Heard heard_;
};

/// Checks that a vocabulary of `ids` ids of the file `path` fits a model that writes `most` ids.
void check_ids(const std::string& path, int64_t ids, int64_t most);

}  // namespace syrinx
