// libsyrinx: speech language models in a C program, which reads the audio while it is made. The
// following complete example is built and run by a test:
//
//     #include <stdio.h>
//     #include <syrinx.h>
//
//     /* Called on the thread that called syrinx_speak(), as often as there is new audio. */
//     static int write_chunk(void* file, const syrinx_chunk* chunk) {
//       size_t i;
//       for (i = 0; i < chunk->word_count; ++i) {
//         printf("word of bytes %zu to %zu at %.2f s\n", chunk->words[i].begin,
//                chunk->words[i].end, chunk->words[i].at_s);
//       }
//       return fwrite(chunk->samples, sizeof(float), chunk->count, file) != chunk->count;
//     }
//
//     int main(void) {
//       syrinx_error error;
//       syrinx_model* model = syrinx_load("finch", NULL, &error);
//       if (model == NULL) {
//         fprintf(stderr, "%s\n", error.message);
//         return 1;
//       }
//       FILE* file = fopen("hello.f32", "wb");
//       syrinx_speech_options options = syrinx_speech_defaults();
//       options.voice = "raven";
//       int code = syrinx_speak(model, "Hello from C.", &options, write_chunk, file, &error);
//       if (code != SYRINX_OK) fprintf(stderr, "%s\n", error.message);
//
//       /* The same without a callback, of a text that is not all there yet. */
//       options.text_open = 1;
//       syrinx_speech* speech = syrinx_open(model, "This text comes ", &options, &error);
//       const syrinx_chunk* chunk;
//       if (speech != NULL) {
//         syrinx_feed(speech, "in pieces.", 1, &error);
//         while ((chunk = syrinx_read(speech, -1, &error)) != NULL) write_chunk(file, chunk);
//         if (error.code != SYRINX_OK) fprintf(stderr, "%s\n", error.message);
//         syrinx_close(speech);
//       }
//       fclose(file);
//       printf("%d samples a second\n", syrinx_sample_rate(model));
//       syrinx_unload(model);
//       return code;
//     }
//
//     cc hello.c $(pkg-config --cflags --libs syrinx)
//
// Threads. Any number of threads may use a model at once; their speeches are computed in common
// batches. A speech has one reader at a time. Any thread may call syrinx_feed() and syrinx_cancel()
// meanwhile. The library has its own threads, but runs callbacks only inside syrinx_speak(). A
// callback or reader that blocks delays only its own speech. A callback must not throw or longjmp;
// a C++ exception ends the speech with SYRINX_INTERNAL. A process that forks must not use a model
// in the child.
//
// Errors. A function that can fail has a parameter of type syrinx_error, which may be NULL. It
// always writes SYRINX_OK or the error there. Errors of the caller (a NULL handle) are
// SYRINX_INVALID where the library can detect them. Strings are UTF-8 and end with a zero byte.
// Arguments are copied; returned strings belong to their handle.
//
// Compatibility of versions. Names and meanings remain the same while the library is
// libsyrinx.so.0. Handles are opaque. Structs that a caller fills begin with their size and grow at
// the end. Fill them with the functions that return the defaults, then set the fields that differ.
// Structs that the library returns grow at the end, too: do not copy them by value between programs
// that were built separately. syrinx_error keeps its size. Codes and bits may be added, so expect
// unknown values.
#ifndef SYRINX_H
#define SYRINX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SYRINX_API __attribute__((visibility("default")))
#else
#define SYRINX_API
#endif

// ---------------------------------------------------------------- errors

enum syrinx_code {
  SYRINX_OK = 0,
  SYRINX_INVALID = 1,      ///< malformed; a retry fails again
  SYRINX_NOT_FOUND = 2,    ///< the model lacks the named voice
  SYRINX_UNSUPPORTED = 3,  ///< well-formed, but not supported by the model
  SYRINX_OVERLOADED = 4,   ///< the engine is full; see retry_after_s
  SYRINX_CANCELLED = 5,    ///< cancelled by the caller
  SYRINX_TIMEOUT = 6,      ///< nothing arrived within the timeout
  SYRINX_INTERNAL = 7,     ///< an internal error of the library
  SYRINX_LOAD = 8          ///< a model or a file is invalid
};

typedef struct syrinx_error {
  int32_t code;  ///< a value of enum syrinx_code
  int32_t reserved;
  double retry_after_s;  ///< with SYRINX_OVERLOADED; 0 if unknown
  char message[496];     ///< text for people; empty with SYRINX_OK
} syrinx_error;

/// Returns the version, e.g. "0.1.0"; static storage.
SYRINX_API const char* syrinx_version(void);

// ---------------------------------------------------------------- models

typedef struct syrinx_model syrinx_model;

typedef struct syrinx_load_options {
  size_t size;
  const char* weights;  ///< auto, f32, bf16, q8, q8a8, q4 or mixed; NULL means auto
  const char* device;   ///< auto, cpu, cuda, cuda:N, NODE=cuda:N; NULL means auto
  const char* policy;   ///< streaming, throughput or fcfs; NULL means streaming
  int32_t threads;      ///< 0 means all cores
  int32_t max_batch;    ///< most speeches in one step; 0 means 32
  int32_t max_open;     ///< most open speeches; more are SYRINX_OVERLOADED; 0 means 256
  double max_wait_s;    ///< longest predicted wait; more is SYRINX_OVERLOADED; 0 means 60
  /// A loaded model whose threads, scheduler, max_batch and policy this model uses, in place of the
  /// fields above. NULL means own threads.
  const syrinx_model* beside;
} syrinx_load_options;

/// Returns options with their size set and all other fields unset. Call it instead of writing a
/// plain initializer.
static inline syrinx_load_options syrinx_load_defaults(void) {
  syrinx_load_options options = {sizeof(syrinx_load_options), NULL, NULL, NULL, 0, 0, 0, 0, NULL};
  return options;
}

/// Loads a model: "finch" (the built-in voice), the directory of a checkpoint, or
/// Org/Name[@revision] in the hub's local cache. Downloads nothing. NULL `options` mean the
/// defaults. Returns NULL on failure.
SYRINX_API syrinx_model* syrinx_load(const char* model, const syrinx_load_options* options,
                                     syrinx_error* error);
/// Frees a model. Its open speeches stay usable until they are closed. Ignores NULL.
SYRINX_API void syrinx_unload(syrinx_model* model);

/// Abilities of a model: bits of syrinx_traits().
enum syrinx_trait {
  SYRINX_TELLS_WORDS = 1,      ///< chunks contain the times of words
  SYRINX_HEARS_LATE_TEXT = 2,  ///< speaks before the text is complete (others collect it first)
  SYRINX_CLONES = 4,           ///< the model supports syrinx_learn_voice()
  SYRINX_MIXES_VOICES = 8,     ///< "finch(2)+raven(1)" is a voice
  SYRINX_TAKES_INSTRUCTIONS = 16
};

/// Returns the model's name. Valid until syrinx_unload().
SYRINX_API const char* syrinx_model_name(const syrinx_model* model);
/// Returns the family of the model, e.g. "finch". Valid until syrinx_unload().
SYRINX_API const char* syrinx_model_family(const syrinx_model* model);
SYRINX_API int syrinx_sample_rate(const syrinx_model* model);  ///< in Hz; audio has one channel
SYRINX_API uint32_t syrinx_traits(const syrinx_model* model);  ///< bits of enum syrinx_trait
/// Returns the name of a voice, by its number 0, 1, ...; NULL past the last voice.
SYRINX_API const char* syrinx_voice_name(const syrinx_model* model, size_t number);
/// Returns a voice's description, which may be empty; NULL past the last voice.
SYRINX_API const char* syrinx_voice_description(const syrinx_model* model, size_t number);
/// Returns the name of a language, by its number 0, 1, ...; NULL past the last language.
SYRINX_API const char* syrinx_language_name(const syrinx_model* model, size_t number);

// ---------------------------------------------------------------- voices of recordings

/// A voice as data. It works with all models of the family that made it, and may outlive the model.
typedef struct syrinx_voice syrinx_voice;

/// Encodes a voice from mono samples (full scale 1) and waits for the result. `text`: the words of
/// the recording, which some models need, or NULL. Returns NULL on failure.
SYRINX_API syrinx_voice* syrinx_learn_voice(syrinx_model* model, const float* samples, size_t count,
                                            int sample_rate, const char* text, syrinx_error* error);
/// Encodes a voice from an audio file in a common format. Returns NULL on failure.
SYRINX_API syrinx_voice* syrinx_learn_voice_file(syrinx_model* model, const char* path,
                                                 const char* text, syrinx_error* error);
/// Writes a voice as a .safetensors file. `consent`: the person that agreed to be cloned, and how;
/// may be NULL.
SYRINX_API int syrinx_save_voice(const syrinx_voice* voice, const char* path, const char* consent,
                                 syrinx_error* error);
/// Reads a voice from a .safetensors file. Returns NULL on failure.
SYRINX_API syrinx_voice* syrinx_open_voice(const char* path, syrinx_error* error);
/// Frees a voice. Ignores NULL.
SYRINX_API void syrinx_free_voice(syrinx_voice* voice);

// ---------------------------------------------------------------- speech

typedef struct syrinx_speech_options {
  size_t size;
  /// A voice of the model, a stored voice (`syrinx voice add`), or a mix. NULL means the default.
  const char* voice;
  const syrinx_voice* learned;  ///< a voice as data; if it is set, `voice` must be NULL
  const char* language;         ///< the model's name of the language; NULL lets the model decide
  const char* instructions;     ///< may be NULL
  float speed;                  ///< factor, 0.25 to 4
  /// Options of the sampler. Values below 0 mean the model's defaults.
  float temperature, top_p, repetition_penalty, guidance;
  int32_t top_k;
  int32_t text_open;  ///< if not 0, syrinx_feed() adds further text
  uint64_t seed;      ///< seed of the random numbers; the same seed gives the same samples
  double max_s;       ///< longest audio in seconds; 0 means a bound derived from the text
  /// Further options of POST /v1/audio/speech: alternating names and values, ended by NULL, such as
  /// {"exaggeration", "0.5", "min_p", "0.1", NULL}. The fields above override them if set. May be
  /// NULL.
  const char* const* more;
} syrinx_speech_options;

/// Returns options with their size set and all other fields unset. Call it instead of writing a
/// plain initializer.
static inline syrinx_speech_options syrinx_speech_defaults(void) {
  syrinx_speech_options options = {
      sizeof(syrinx_speech_options), NULL, NULL, NULL, NULL, 1, -1, -1, -1, -1, -1, 0, 0, 0, NULL};
  return options;
}

/// The time of a word: its bytes [begin, end) of all text so far begin to sound at `at_s`.
typedef struct syrinx_word {
  size_t begin, end;
  double at_s;  ///< seconds since the beginning of the speech
} syrinx_word;

/// New audio, valid until the next call for the same speech.
typedef struct syrinx_chunk {
  const float* samples;  ///< mono, full scale 1
  size_t count;          ///< may be 0 if only words are new
  int32_t sample_rate;   ///< in Hz
  int32_t reserved;
  double begin_s;  ///< seconds from the beginning of the speech to the first sample
  /// Words whose times became known. Their audio is in this chunk or in a later chunk.
  const syrinx_word* words;
  size_t word_count;
} syrinx_chunk;

/// Receives a chunk. Returns 0 to continue; another value ends the speech, and syrinx_speak()
/// returns SYRINX_CANCELLED.
typedef int (*syrinx_on_chunk)(void* user, const syrinx_chunk* chunk);

/// Speaks a text; returns when the callback has all audio. NULL `options` mean the defaults.
SYRINX_API int syrinx_speak(syrinx_model* model, const char* text,
                            const syrinx_speech_options* options, syrinx_on_chunk on_chunk,
                            void* user, syrinx_error* error);

typedef struct syrinx_speech syrinx_speech;

/// Begins to speak; syrinx_read() returns the audio. Returns NULL on failure. The model pauses
/// while some seconds of audio are unread.
SYRINX_API syrinx_speech* syrinx_open(syrinx_model* model, const char* text,
                                      const syrinx_speech_options* options, syrinx_error* error);
/// Adds text to a speech that was opened with text_open. If `last` is not 0, it is the last text,
/// which may be empty.
SYRINX_API int syrinx_feed(syrinx_speech* speech, const char* text, int last, syrinx_error* error);
/// Returns new audio and words. `timeout_s` 0: does not wait; below 0: waits without limit. Returns
/// NULL at the end (SYRINX_OK), after `timeout_s` (SYRINX_TIMEOUT), or if the speech has failed.
SYRINX_API const syrinx_chunk* syrinx_read(syrinx_speech* speech, double timeout_s,
                                           syrinx_error* error);
/// Returns a file descriptor for poll() and event loops, readable when syrinx_read() would return
/// at once. Do not read or close it; it belongs to the speech. Returns -1 if not available.
SYRINX_API int syrinx_fd(syrinx_speech* speech);
/// Ends the speech with SYRINX_CANCELLED before the next step. Finished audio can still be read.
SYRINX_API void syrinx_cancel(syrinx_speech* speech);
/// Frees a speech; cancels it if it has not ended. Ignores NULL.
SYRINX_API void syrinx_close(syrinx_speech* speech);

/// The reason for the end of a speech.
enum syrinx_end {
  SYRINX_END_OF_TEXT = 0,
  SYRINX_END_OF_LENGTH = 1,    ///< the audio reached its bound before the end of the text
  SYRINX_END_OF_PATIENCE = 2,  ///< the voice repeated itself and was stopped
  SYRINX_END_EARLY = 3         ///< cancelled or failed
};

typedef struct syrinx_outcome {
  int32_t end;           ///< a value of enum syrinx_end
  int32_t underruns;     ///< chunks that arrived too late for playback in real time
  double audio_s;        ///< seconds made by the model, before a change of speed by the library
  double first_audio_s;  ///< seconds from opening to the first samples
  double total_s;        ///< seconds from opening to the end
} syrinx_outcome;

/// Returns the outcome; NULL before syrinx_read() has reported the end.
SYRINX_API const syrinx_outcome* syrinx_outcome_of(const syrinx_speech* speech);

#ifdef __cplusplus
}
#endif

#endif
