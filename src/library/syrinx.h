// libsyrinx: speech language models in a C program, which reads the audio while it is made.
// A whole example; a test builds and runs it:
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
// Threads. A model may be used by any number of threads at once; their speeches are computed in
// common batches. A speech has one reader at a time; any thread may call syrinx_feed() and
// syrinx_cancel() meanwhile. The library has threads of its own, but never runs callbacks on them:
// callbacks run inside syrinx_speak(). A callback that blocks delays only its own speech, and so
// does a slow reader. A callback must not throw or longjmp; a C++ exception ends the speech with
// SYRINX_INTERNAL. A process that forks must not use a model in the child.
//
// Errors. A function that can fail takes a syrinx_error, which may be NULL, and always writes it:
// SYRINX_OK or the error. Faults of the caller (a NULL handle) are SYRINX_INVALID where that can be
// distinguished. Strings are UTF-8 and end with a zero; arguments are copied, returned strings
// belong to their handle.
//
// Compatibility of versions. All names and meanings here stay the same while the library is
// libsyrinx.so.0. Handles are opaque. Structs that a caller fills begin with their size and grow at
// the end: fill them by the functions that return the defaults, then set the fields that differ.
// Structs that the library returns grow at the end, too: do not copy them by value between programs
// that were built separately. syrinx_error keeps its size. Codes and bits may be added, so expect
// unknown ones.
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
  SYRINX_INVALID = 1,      ///< malformed; a repetition fails again
  SYRINX_NOT_FOUND = 2,    ///< there is no voice with that name
  SYRINX_UNSUPPORTED = 3,  ///< well-formed, but not supported by the model
  SYRINX_OVERLOADED = 4,   ///< no capacity now; see retry_after_s
  SYRINX_CANCELLED = 5,    ///< cancelled by the caller
  SYRINX_TIMEOUT = 6,      ///< nothing arrived within the timeout
  SYRINX_INTERNAL = 7,     ///< a bug of the library
  SYRINX_LOAD = 8          ///< a model or a file is invalid
};

typedef struct syrinx_error {
  int32_t code;  ///< of enum syrinx_code
  int32_t reserved;
  double retry_after_s;  ///< with SYRINX_OVERLOADED; 0: unknown
  char message[496];     ///< for people; "" with SYRINX_OK
} syrinx_error;

/// Returns the version, "0.1.0"; static.
SYRINX_API const char* syrinx_version(void);

// ---------------------------------------------------------------- models

typedef struct syrinx_model syrinx_model;

typedef struct syrinx_load_options {
  size_t size;
  const char* weights;  ///< auto, f32, bf16, q8, q8a8, q4 or mixed; NULL: auto
  const char* device;   ///< auto, cpu or cuda; NULL: auto
  const char* policy;   ///< streaming, throughput or fcfs; NULL: streaming
  int32_t threads;      ///< 0: all cores
  int32_t max_batch;    ///< speeches in one step; 0: 32
  int32_t max_open;     ///< most open speeches, beyond which SYRINX_OVERLOADED is reported; 0: 256
  double max_wait_s;    ///< longest predicted wait, beyond it SYRINX_OVERLOADED is reported; 0: 60
  /// A loaded model whose threads and deadlines this model shares; threads, max_batch and policy
  /// are then those of that model. NULL: own threads.
  const syrinx_model* beside;
} syrinx_load_options;

/// Returns options whose fields are all unset, with their size. Use it instead of a plain
/// initializer.
static inline syrinx_load_options syrinx_load_defaults(void) {
  syrinx_load_options options = {sizeof(syrinx_load_options), NULL, NULL, NULL, 0, 0, 0, 0, NULL};
  return options;
}

/// Loads a model: "finch" (the built-in voice), the directory of a checkpoint, or
/// Org/Name[@revision] in the hub's local cache; nothing is downloaded. `options` NULL: the
/// defaults. NULL on failure.
SYRINX_API syrinx_model* syrinx_load(const char* model, const syrinx_load_options* options,
                                     syrinx_error* error);
/// Frees a model. Its open speeches stay usable until they are closed. NULL does nothing.
SYRINX_API void syrinx_unload(syrinx_model* model);

/// Abilities of a model: bits of syrinx_traits().
enum syrinx_trait {
  SYRINX_TELLS_WORDS = 1,      ///< chunks contain the times of words
  SYRINX_HEARS_LATE_TEXT = 2,  ///< speaks before the text is complete (others collect it first)
  SYRINX_CLONES = 4,           ///< syrinx_learn_voice() works
  SYRINX_MIXES_VOICES = 8,     ///< "finch(2)+raven(1)" is a voice
  SYRINX_TAKES_INSTRUCTIONS = 16
};

/// Returns the model's name. Valid until syrinx_unload().
SYRINX_API const char* syrinx_model_name(const syrinx_model* model);
/// Returns the family of the model: "finch". Valid until syrinx_unload().
SYRINX_API const char* syrinx_model_family(const syrinx_model* model);
SYRINX_API int syrinx_sample_rate(const syrinx_model* model);  ///< Hz; audio has one channel
SYRINX_API uint32_t syrinx_traits(const syrinx_model* model);  ///< bits of enum syrinx_trait
/// Returns the name of a voice, by its number 0, 1, ...; NULL past the last voice.
SYRINX_API const char* syrinx_voice_name(const syrinx_model* model, size_t number);
/// Returns a voice's description for people, "" for none; NULL past the last voice.
SYRINX_API const char* syrinx_voice_description(const syrinx_model* model, size_t number);
/// Returns the name of a language, by its number 0, 1, ...; NULL past the last language.
SYRINX_API const char* syrinx_language_name(const syrinx_model* model, size_t number);

// ---------------------------------------------------------------- voices of recordings

/// A voice as data. It works with all models of the family that made it, and may outlive the model.
typedef struct syrinx_voice syrinx_voice;

/// Learns a voice from mono samples (full scale 1) and waits for the result. `text`: the words of
/// the recording, which some models need; or NULL. NULL on failure.
SYRINX_API syrinx_voice* syrinx_learn_voice(syrinx_model* model, const float* samples, size_t count,
                                            int sample_rate, const char* text, syrinx_error* error);
/// Learns a voice from a file of a common audio format. NULL on failure.
SYRINX_API syrinx_voice* syrinx_learn_voice_file(syrinx_model* model, const char* path,
                                                 const char* text, syrinx_error* error);
/// Writes a voice as a .safetensors file. `consent`: the person that agreed to be cloned, and how;
/// or NULL.
SYRINX_API int syrinx_save_voice(const syrinx_voice* voice, const char* path, const char* consent,
                                 syrinx_error* error);
/// Reads a voice from a .safetensors file. NULL on failure.
SYRINX_API syrinx_voice* syrinx_open_voice(const char* path, syrinx_error* error);
/// Frees a voice. NULL does nothing.
SYRINX_API void syrinx_free_voice(syrinx_voice* voice);

// ---------------------------------------------------------------- speech

typedef struct syrinx_speech_options {
  size_t size;
  /// A voice of the model, one stored by `syrinx voice add`, or a mix; NULL: the model's default.
  const char* voice;
  const syrinx_voice* learned;  ///< used instead of `voice`; NULL: none
  const char* language;         ///< the model's name of the language; NULL: the model decides
  const char* instructions;     ///< NULL: none
  float speed;                  ///< 0.25 to 4
  /// Options of the sampler; below 0: the model's default.
  float temperature, top_p, repetition_penalty, guidance;
  int32_t top_k;
  int32_t text_open;  ///< not 0: more text follows with syrinx_feed()
  uint64_t seed;      ///< the same seed gives the same samples
  double max_s;       ///< longest audio in seconds; 0: a bound derived from the text
  /// Further options of POST /v1/audio/speech: names and values in turn, ended by NULL, such as
  /// {"exaggeration", "0.5", "min_p", "0.1", NULL}. Fields above that are set override them. NULL:
  /// none.
  const char* const* more;
} syrinx_speech_options;

/// Returns options whose fields are all unset, with their size. Use it instead of a plain
/// initializer.
static inline syrinx_speech_options syrinx_speech_defaults(void) {
  syrinx_speech_options options = {
      sizeof(syrinx_speech_options), NULL, NULL, NULL, NULL, 1, -1, -1, -1, -1, -1, 0, 0, 0, NULL};
  return options;
}

/// The time of a word: bytes [begin, end) of all text so far begin to sound at `at_s`.
typedef struct syrinx_word {
  size_t begin, end;
  double at_s;  ///< seconds since the beginning of the speech
} syrinx_word;

/// New audio, valid until the next call for the same speech.
typedef struct syrinx_chunk {
  const float* samples;  ///< mono, full scale 1
  size_t count;          ///< may be 0 if only words are new
  int32_t sample_rate;   ///< Hz
  int32_t reserved;
  double begin_s;  ///< seconds from the beginning of the speech to the first sample
  /// Words whose times became known; their audio is in this chunk or a later one.
  const syrinx_word* words;
  size_t word_count;
} syrinx_chunk;

/// Receives a chunk. Returns 0 to continue; another value ends the speech, and syrinx_speak()
/// returns SYRINX_CANCELLED.
typedef int (*syrinx_on_chunk)(void* user, const syrinx_chunk* chunk);

/// Speaks a text; returns when all audio has been passed on. `options` NULL: the defaults.
SYRINX_API int syrinx_speak(syrinx_model* model, const char* text,
                            const syrinx_speech_options* options, syrinx_on_chunk on_chunk,
                            void* user, syrinx_error* error);

typedef struct syrinx_speech syrinx_speech;

/// Begins to speak; syrinx_read() returns the audio. NULL on failure. The model makes only some
/// seconds of audio ahead of the reader.
SYRINX_API syrinx_speech* syrinx_open(syrinx_model* model, const char* text,
                                      const syrinx_speech_options* options, syrinx_error* error);
/// Adds text to a speech that was opened with text_open; `last` not 0: it is the last text (may be
/// "").
SYRINX_API int syrinx_feed(syrinx_speech* speech, const char* text, int last, syrinx_error* error);
/// Returns new audio and words. Waits for `timeout_s`; 0: does not wait, below 0: without limit.
/// NULL: at the end (SYRINX_OK), after `timeout_s` (SYRINX_TIMEOUT), or when the speech has failed.
SYRINX_API const syrinx_chunk* syrinx_read(syrinx_speech* speech, double timeout_s,
                                           syrinx_error* error);
/// Returns a file descriptor for poll() and event loops, readable when syrinx_read() would return
/// at once. Do not read from it or close it; it belongs to the speech. -1: not available.
SYRINX_API int syrinx_fd(syrinx_speech* speech);
/// Ends the speech with SYRINX_CANCELLED before the next step; audio already made can be read.
SYRINX_API void syrinx_cancel(syrinx_speech* speech);
/// Frees a speech; cancels it if it has not ended. NULL does nothing.
SYRINX_API void syrinx_close(syrinx_speech* speech);

/// The reason for the end of a speech.
enum syrinx_end {
  SYRINX_END_OF_TEXT = 0,
  SYRINX_END_OF_LENGTH = 1,    ///< a bound was reached before the end of the text
  SYRINX_END_OF_PATIENCE = 2,  ///< the voice repeated itself and was stopped
  SYRINX_END_EARLY = 3         ///< cancelled or failed
};

typedef struct syrinx_outcome {
  int32_t end;           ///< of enum syrinx_end
  int32_t underruns;     ///< chunks that came too late for a listener in real time
  double audio_s;        ///< seconds that the model made, before any change of speed outside it
  double first_audio_s;  ///< seconds from opening to the first samples
  double total_s;        ///< seconds from opening to the end
} syrinx_outcome;

/// Returns the outcome; NULL before syrinx_read() has reported the end.
SYRINX_API const syrinx_outcome* syrinx_outcome_of(const syrinx_speech* speech);

#ifdef __cplusplus
}
#endif

#endif
