// The command line: parses, runs one command, turns what is thrown into one line and an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "audio/decode_helper.h"
#include "audio/volume.h"
#include "cli/batch.h"
#include "cli/bench_arguments.h"
#include "cli/book.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/interrupt.h"
#include "cli/manual.h"
#include "cli/ranges.h"
#include "cli/top.h"
#include "cli/usage.h"

namespace syrinx {
namespace {

void add_load(CLI::App& app, LoadOptions& load) {
  app.add_option(
         "--weights", load.weights,
         "how linear weights are kept: f32, bf16, q8, q8a8, q4, mixed (of q8 and q4), or auto: "
         "q8 on a CPU, bf16 on a GPU")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "q8", "q8a8", "q4", "mixed"}))
      ->capture_default_str();
  app.add_option("--weights-cache", load.weights_cache,
                 "where packed weights are kept for the next start: a directory, off, or auto: "
                 "syrinx/weights in XDG_CACHE_HOME or ~/.cache, for checkpoints from 64 MiB")
      ->type_name("DIR|off|auto")
      ->capture_default_str();
  app.add_option("--device", load.device,
                 "cpu, cuda, or auto: cuda where this build and this machine have it")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--lexicon", load.lexicon,
                 "a file that tells how words are said, one a line: Syrinx /IPA/, Nguyen {ARPAbet} "
                 "or nginx engine X");
  app.add_option("--threads", load.engine.threads, "CPU threads; 0: all cores")
      ->check(between(0, 1024))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--load-format", [&load](const std::string& format) { load.dummy = format == "dummy"; },
         "auto, or dummy: random weights, for measuring")
      ->check(CLI::IsMember({"auto", "dummy"}));
}

void add_model(CLI::App& app, LoadOptions& load) {
  app.add_option(
         "-m,--model", load.model,
         "built-in (finch speaks, wren writes), checkpoint directory, or Org/Name in the hub's "
         "cache")
      ->capture_default_str();
  add_load(app, load);
}

void add_models(CLI::App& app, ServeOptions& serve) {
  app.add_option(
      "-m,--model", serve.models,
      "built-in (finch speaks, wren writes), checkpoint directory, or Org/Name in the hub's "
      "cache; may be repeated: the first is loaded at once and answers when no model is named, "
      "others "
      "are loaded when asked for (default: finch)");
  app.add_option("--model-keep", serve.model_keep_s,
                 "seconds that a model but the first is kept after its last use; 0: for ever")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--model-memory-mib", serve.model_memory_mib,
                 "weights of all models together; past it those out of use are let go; 0: no bound")
      ->capture_default_str();
  add_load(app, serve.load);
}

void add_volume(CLI::App& app, double& volume) {
  app.add_option("--volume", volume, "factor, 0.1 to 4; what gets too loud is bent, not clipped")
      ->check(between(kMinVolume, kMaxVolume))
      ->type_name("FACTOR");
}

void add_request(CLI::App& app, SpeechRequest& request) {
  app.add_option(
      "-v,--voice", request.voice,
      "one of the model's voices, one of 'syrinx voice list', or a mix: 'anna(2)+ben(1)'");
  app.add_option("-l,--language", request.language, "as the model names it");
  app.add_option("--instructions", request.instructions, "how to speak, where the model listens");
  app.add_option("--speed", request.speed, "factor, as far as the model itself can")
      ->check(between(0.25f, 4.0f))
      ->type_name("FACTOR");
  app.add_option("--seed", request.seed, "same seed, same audio")->capture_default_str();
  app.add_option("--temperature", request.temperature, "0: always the most likely code")
      ->check(between(0.0, 2.0));
  app.add_option("--top-p", request.top_p, "only the likeliest codes that make up so much")
      ->check(between(0.0, 1.0));
  app.add_option("--top-k", request.top_k, "only so many codes; 0: all")->check(at_least(0));
  app.add_option("--min-p", request.min_p, "only codes this likely, the likeliest being 1")
      ->check(between(0.0, 1.0));
  app.add_option("--repetition-penalty", request.repetition_penalty, "1: none")
      ->check(between(0.1, 10.0));
  app.add_option("--guidance", request.guidance, "scale of guidance, where the model uses it")
      ->check(between(0.0, 20.0));
  app.add_option("--inner-temperature", request.inner_temperature,
                 "of the codes after a frame's first, where they are drawn apart")
      ->check(between(0.0, 2.0));
  app.add_option("--inner-top-p", request.inner_top_p, "the same")->check(between(0.0, 1.0));
  app.add_option("--inner-top-k", request.inner_top_k, "the same")->check(at_least(0));
  app.add_option_function<std::string>(
         "--flow",
         [&request](const std::string& name) {
           request.flow = name == "full"     ? FlowMode::kFull
                          : name == "causal" ? FlowMode::kCausal
                                             : FlowMode::kAuto;
         },
         "what the model's flow attends to: causal, chunks that can be streamed; full, all of "
         "a part of the text; auto, as it was trained (auto)")
      ->check(CLI::IsMember({"auto", "causal", "full"}));
  app.add_option("--exaggeration", request.exaggeration,
                 "degree of emotion, where the model has it")
      ->check(between(0.0, 2.0));
  app.add_option("--speaker", request.speaker,
                 "who of a conversation speaks, where speakers have numbers")
      ->check(at_least(0));
  app.add_option("--max-frames", request.max_frames, "0: a bound derived from the text")
      ->check(at_least(0));
  app.add_option("--initial-chunk-frames", request.initial_chunk_frames,
                 "frames of the first chunk; 0: as the load allows")
      ->check(at_least(0));
}

void add_engine(CLI::App& app, EngineOptions& engine) {
  app.add_option("--policy", engine.policy,
                 "streaming: playback deadlines; throughput: largest batches; fcfs: the baseline")
      ->check(CLI::IsMember({"streaming", "throughput", "fcfs"}))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--executors",
         [&engine](const std::string& name) { engine.executors = find_executors(name); },
         "shared: all threads on one batch; split: language models beside codecs; each: a batch a "
         "thread; auto: split with two threads or more (auto)")
      ->check(CLI::IsMember({"auto", "shared", "split", "each"}));
  app.add_option("--max-batch", engine.max_batch, "streams in one step")
      ->check(between(1, 4096))
      ->capture_default_str();
  app.add_option("--max-prefill-rows", engine.max_prefill_rows,
                 "prompt rows that ride along in one step")
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  app.add_flag(
      "--drafts,!--no-drafts", engine.drafts,
      "run guesses of a text's next tokens along with its steps; the same text, sooner (on)");
  app.add_option(
         "--background-share", engine.background_share,
         "of the executors' time, what drafts and other requests in the background may take "
         "where nobody else wants it")
      ->check(between(0.001, 1))
      ->capture_default_str();
  app.add_option("--background-pages", engine.background_pages,
                 "share of a KV cache that they may hold")
      ->check(between(0, 1))
      ->capture_default_str();
  app.add_option("--max-wait", engine.max_wait_s,
                 "seconds of predicted wait past which requests get a 503")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--max-per-client", engine.max_per_client,
                 "unfinished requests of one key or address; 0: no limit")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--trace-file", engine.trace_file,
                 "write what the engine does, for Perfetto or chrome://tracing");
  app.add_option("--max-requests", engine.max_requests, "accepted and unfinished; more get a 503")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  app.add_option_function<size_t>(
         "--kv-mib", [&engine](size_t mib) { engine.kv_bytes = mib << 20; },
         "memory of the KV cache; by default enough for max-batch long requests, at most 1024")
      ->check(between(1, 1 << 20));
}

void add_prediction(CLI::App& app, Prediction& how) {
  app.add_option_function<std::string>(
         "--predict-rule", [&how](const std::string& name) { how.rule = *find_draft_rule(name); },
         "what an answer keeps of its draft: greedy, the tokens that would have been written "
         "anyway; top-k, those among the --predict-k likeliest; reflection, sentences that the "
         "model, when asked, finds to answer the question. The last two may change answers "
         "(greedy)")
      ->check(CLI::IsMember({"greedy", "top-k", "reflection"}));
  app.add_option("--predict-k", how.among, "the k of top-k")
      ->check(between(1, Prediction::kMostAmong))
      ->capture_default_str();
  app.add_option_function<int>(
         "--predict-tokens", [&how](int tokens) { set_draft_length(how.drafts, tokens); },
         "of the first draft (30)")
      ->check(between(1, Prediction::kMostDraft));
  app.add_option("--predict-hint", how.hint,
                 "text behind the question in drafts, such as \"(This may be cut off.)\"");
}

void add_store(CLI::App& app, std::string& directory) {
  app.add_option("--voice-store", directory,
                 "directory of kept voices (default: SYRINX_VOICES, or syrinx/voices in "
                 "XDG_DATA_HOME or ~/.local/share)");
}

void add_voice_choice(CLI::App& app, VoiceChoice& voice) {
  app.add_option("--ref-audio", voice.ref_audio,
                 "a recording: speak with the voice in it, where the model can clone");
  app.add_option("--ref-text", voice.ref_text, "what the recording says");
  app.add_option("--ref-mode", voice.ref_mode, "how to clone, as the model names its ways");
  app.add_flag("--ref-trim", voice.ref_trim, "leave out the silence at both ends of the recording");
  app.add_option("--speaker-embedding", voice.embedding_file,
                 "a speaker as numbers: a JSON list, or a safetensors file with one tensor");
  app.add_option("--turn", voice.turns,
                 "an earlier turn of the conversation, where the model hears it: speaker's number, "
                 "recording ('-': none) and words; may be repeated, oldest first")
      ->type_name("SPEAKER FILE WORDS");
  add_store(app, voice.store);
}

void add_voice_command(CLI::App& app, VoiceOptions& voice, std::function<int()>& command) {
  CLI::App* all = app.add_subcommand("voice", "Keep voices made of recordings");
  all->require_subcommand(1);
  voice.load.model.clear();
  const auto below = [&](const char* name, const char* what, int (*run)(const VoiceOptions&)) {
    CLI::App* sub = all->add_subcommand(name, what);
    add_store(*sub, voice.store);
    sub->callback([&voice, &command, run] { command = [&voice, run] { return run(voice); }; });
    return sub;
  };
  CLI::App* add = below("add", "Keep a recording as a voice, or import a voice", run_voice_add);
  add->add_option("name", voice.wish.name, "what to call it")->required();
  add->add_option("recording", voice.file,
                  "an audio file, best 5 to 20 s of one speaker without noise; or a .safetensors "
                  "file that 'voice export' wrote")
      ->required();
  add->add_option("--text", voice.wish.text, "what the recording says; some models need it");
  add->add_flag("--trim", voice.trim, "leave out the silence at both ends of the recording");
  add->add_option("--mode", voice.wish.mode, "how to clone, as the model names its ways");
  add->add_option("--consent", voice.wish.consent, "a note: who agreed to this, and how");
  add->add_option("--description", voice.wish.description, "a note for lists");
  add->add_flag("--replace", voice.wish.replace, "a voice of that name goes");
  add->add_option("-m,--model", voice.load.model,
                  "encode it now for this model; otherwise that is done at its first use");
  add_load(*add, voice.load);
  add->footer(
      "Clone only voices of people who agreed to it.\n\n"
      "Examples:\n"
      "  syrinx voice add anna anna.m4a --text \"What Anna says there.\" --consent \"by mail\"\n"
      "  syrinx say \"Hello.\" --model Org/Name --voice anna");
  below("list", "List the kept voices", run_voice_list);
  below("show", "Show what is known of a voice", run_voice_show)
      ->add_option("name", voice.wish.name, "of the voice")
      ->required();
  below("remove", "Remove voices and their recordings", run_voice_remove)
      ->add_option("names", voice.names, "of the voices")
      ->required();
  CLI::App* out = below("export", "Write a voice or its recording into a file", run_voice_export);
  out->add_option("name", voice.wish.name, "of the voice")->required();
  out->add_option("-o,--output", voice.file,
                  "NAME.wav: the recording; NAME.safetensors: the voice made of it, for a model")
      ->required();
  out->add_option("-m,--model", voice.load.model, "the model for which the voice is encoded");
  add_load(*out, voice.load);
}

void add_transcribe(CLI::App& app, TranscribeOptions& transcribe, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("transcribe", "Write down what is said in recordings");
  sub->add_option("files", transcribe.files, "audio files; '-' is the standard input")->required();
  sub->add_option("-m,--model", transcribe.ears,
                  "what recognises: pocketsphinx, or a Whisper (a directory or Org/Name)")
      ->capture_default_str();
  sub->add_option("--language", transcribe.language,
                  "of the speech, as 'en' or 'english'; by default found out, or the only one");
  sub->add_option("--prompt", transcribe.prompt,
                  "what was said before, or words to expect, for models that heed it");
  sub->add_flag("--translate", transcribe.translate, "into English, with models that can");
  sub->add_flag("--words", transcribe.word_times, "the times of words, in JSON");
  sub->add_option("--format", transcribe.format,
                  "of the transcript; by default as the output's name ends, or txt")
      ->check(CLI::IsMember({"txt", "srt", "vtt", "json"}));
  sub->add_option("-o,--output", transcribe.output,
                  "a file, or a directory for those of several recordings; '-' is the standard "
                  "output, where it goes without this");
  sub->add_flag("-q,--quiet", transcribe.quiet, "no progress");
  sub->callback([&] { command = [&transcribe] { return run_transcribe(transcribe); }; });
  sub->footer(
      "Examples:\n"
      "  syrinx transcribe talk.mp3                       lines of text as they are settled\n"
      "  syrinx transcribe talk.m4a -o talk.srt           subtitles\n"
      "  syrinx transcribe *.ogg --format vtt -o texts/   a file for each\n"
      "  syrinx transcribe --format json --words - < talk.wav\n\n"
      "Exit codes: 0 done, 1 a recording could not be read (the others were), 2 the command line "
      "makes no sense.");
}

void add_format(CLI::App& app, std::string& format, const std::string& otherwise) {
  app.add_option("--format", format, "of the audio; " + otherwise)
      ->check(CLI::IsMember({"wav", "flac", "mp3", "opus", "aac", "m4a", "pcm"}));
}

void add_say(CLI::App& app, SayOptions& say, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("say", "Speak a text, aloud or into a file");
  sub->add_option("text", say.words, "the text; '-' reads it from the standard input");
  sub->add_option("-f,--file", say.text_file, "read the text from a file");
  sub->add_option("-o,--output", say.output,
                  "audio file; '-' is the standard output. Without it the text is played when this "
                  "is a terminal and a player is there (aplay, ffplay, mpv, play, or "
                  "SYRINX_PLAYER, a command that reads WAV), and written to speech.wav otherwise");
  add_format(*sub, say.format, "by default as the output's name ends, or wav");
  sub->add_flag("--play", say.play, "play, also where there is no terminal or an -o");
  sub->add_flag("--words", say.print_words, "print when each word begins");
  sub->add_flag("--phones", say.print_phones, "print when each phone begins");
  sub->add_option("--srt", say.srt_file, "write subtitles");
  add_model(*sub, say.load);
  add_request(*sub, say.request);
  add_volume(*sub, say.volume);
  add_voice_choice(*sub, say.voice);
  sub->footer(
      "Examples:\n"
      "  syrinx say \"Good morning.\"                         hear it\n"
      "  syrinx say \"Good morning.\" -o morning.mp3          keep it\n"
      "  syrinx say - -o news.wav < news.txt                 a text from elsewhere\n"
      "  syrinx say -f talk.txt -o talk.wav --srt talk.srt   with subtitles\n"
      "  syrinx say Hello -o - --format opus | ssh host ...   into another program\n"
      "  syrinx say Hello --model Org/Name --ref-audio anna.wav --ref-text \"Hi.\"   Anna's voice");
  sub->callback([&] { command = [&say] { return run_say(say); }; });
}

void add_chat(CLI::App& app, ChatOptions& chat, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("chat", "Talk with a text model, which answers aloud");
  chat.load.model = "wren";
  add_model(*sub, chat.load);
  sub->add_option("--speaker", chat.speaker, "the model that speaks the answers")
      ->capture_default_str();
  sub->add_option("-v,--voice", chat.request.voice, "one of its voices, or of 'syrinx voice list'");
  sub->add_option("--system", chat.system, "what the model is told before the conversation");
  sub->add_option("--once", chat.once, "ask this and end");
  CLI::Option* listen = sub->add_flag("--listen", chat.listen, "speak the questions");
  sub->get_option("--once")->excludes(listen);
  sub->add_option("--ears", chat.ears, "what recognises them: pocketsphinx, or a Whisper")
      ->capture_default_str();
  sub->add_option("-o,--output", chat.output, "audio file instead of the loudspeaker");
  sub->add_option("--temperature", chat.temperature, "of the answers; 0: always the likeliest word")
      ->check(between(0.0, 2.0));
  sub->add_option("--max-tokens", chat.max_tokens, "of an answer; 0: any number")
      ->check(at_least(0));
  sub->add_option("--seed", chat.request.seed, "same seed, same answers")->capture_default_str();
  sub->add_flag("--no-predict", chat.no_predict, "answer only when the question has ended");
  add_prediction(*sub, chat.prediction);
  sub->footer(
      "While you type, the answer is drafted and its first sentence spoken ahead, unheard; the "
      "draft is\n"
      "shown below the line. What you get is what you would have got without, only sooner.\n"
      "wren, the built-in model, knows little: the time, sums, units, capitals, spelling; others "
      "know "
      "more.\n"
      "Examples:\n"
      "  syrinx chat\n"
      "  syrinx chat --once \"What is 7 times 8?\"\n"
      "  syrinx chat --model Qwen/Qwen2.5-0.5B-Instruct\n"
      "  syrinx chat --model DIR --once \"Who are you?\" -o answer.wav");
  sub->callback([&] { command = [&chat] { return run_chat(chat); }; });
}

void add_book(CLI::App& app, BookOptions& book, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("book", "Speak a long text, a file for each chapter");
  sub->add_option("text", book.text_file, "text file; '-' is the standard input")->required();
  sub->add_option(
      "-o,--output", book.output,
      "a directory ('name/') for a file per chapter and a playlist, or one audio "
      "file with a cue sheet of its chapters; by default a directory named as the text");
  sub->add_option("-j,--jobs", book.jobs, "parts that are spoken at the same time")
      ->check(between(1, 256))
      ->capture_default_str();
  add_format(*sub, book.format, "by default as the output's name ends, or wav");
  sub->add_flag("--restart", book.restart,
                "begin anew instead of going on, or although it is finished");
  add_model(*sub, book.load);
  add_request(*sub, book.request);
  add_volume(*sub, book.volume);
  add_store(*sub, book.voice.store);
  sub->footer(
      "Chapters are headings of Markdown, or short lines between empty ones such as 'Chapter 3', "
      "with\n"
      "their title under them or not, or Roman numerals.\n"
      "Interrupted, the same command goes on where it was.\n\n"
      "Examples:\n"
      "  syrinx book alice.txt                    alice/01-chapter-i-down-the-rabbit-hole.wav\n"
      "  syrinx book alice.txt -o alice.wav       one file, and alice.cue\n"
      "  pandoc -t plain book.epub | syrinx book - -o book/");
  sub->callback([&] { command = [&book] { return run_book(book); }; });
}

void add_batch(CLI::App& app, BatchOptions& batch, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("batch", "Speak a list of texts, a file for each");
  sub->add_option(
         "list", batch.list,
         "JSON Lines: 'text' or 'input', an 'id', and what else a speech request may have; "
         "'-' is the standard input")
      ->required();
  sub->add_option("-o,--output", batch.output, "directory of the files and of manifest.jsonl")
      ->required();
  sub->add_option("-s,--server", batch.servers,
                  "http://host:port of a server that speaks; may be repeated. Without it an engine "
                  "in this process");
  sub->add_option("-j,--jobs", batch.jobs, "requests at a time, of each server")
      ->check(between(1, 4096))
      ->capture_default_str();
  sub->add_option("--shard", batch.shard,
                  "2/8: the second of eight parts of the list; each has a manifest of its own");
  sub->add_option("--extra", batch.fields, "a JSON object: what a line does not say itself");
  add_format(*sub, batch.format, "by default wav");
  sub->add_flag("--retry-failed", batch.retry_failed, "what failed before is tried again");
  sub->add_option("--api-key-file", batch.api_key_file,
                  "for servers: its first line (or set SYRINX_API_KEY or OPENAI_API_KEY)");
  sub->add_option("--timeout", batch.timeout_s, "seconds for a request as a whole")
      ->check(above(0))
      ->capture_default_str();
  sub->add_option("--patience", batch.patience_s,
                  "seconds without any server that takes requests, after which it ends")
      ->check(above(0))
      ->capture_default_str();
  sub->add_flag("-q,--quiet", batch.quiet, "no progress and no sum");
  add_store(*sub, batch.voice_store);
  add_model(*sub, batch.load);
  // Nobody listens: batches as large as they get, and a place for whoever asks.
  batch.load.engine.policy = "throughput";
  batch.load.engine.max_requests = 1'000'000;
  batch.load.engine.max_wait_s = 1e9;
  sub->add_option("--max-batch", batch.load.engine.max_batch, "texts in one step")
      ->check(between(1, 4096))
      ->capture_default_str();
  sub->footer(
      "Interrupted, the same command goes on where it was; what a line says anew is spoken "
      "anew.\n\n"
      "Examples:\n"
      "  syrinx batch texts.jsonl -o audio/\n"
      "  syrinx batch texts.jsonl -o audio/ --server http://a:8080 --server http://b:8080\n"
      "  syrinx batch texts.jsonl -o audio/ --shard 2/8 --extra '{\"voice\": \"raven\"}'\n\n"
      "Exit codes: 0 all spoken, 1 some failed or are not done, 3 all spoken, but some reached a "
      "bound.");
  sub->callback([&] { command = [&batch] { return run_batch(batch); }; });
}

void add_top(CLI::App& app, TopOptions& top, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("top", "Show what servers are doing");
  sub->add_option("url", top.urls, "http://host:port of each (default: http://127.0.0.1:8080)");
  sub->add_option("--every", top.every_s, "seconds between two looks")
      ->check(between(0.1, 3600.0))
      ->capture_default_str();
  sub->add_flag("--once", top.once, "look once and end, with 1 when a server is not ready");
  sub->add_flag("--json", top.json, "a line of JSON for each look");
  sub->add_option("--api-key-file", top.api_key_file,
                  "its first line (or set SYRINX_API_KEY or OPENAI_API_KEY)");
  sub->callback([&] { command = [&top] { return run_top(top); }; });
}

/// What the program tells of itself: completion for shells, the manual.
void add_texts(CLI::App& app, std::string& shell, std::function<int()>& command) {
  CLI::App* completion = app.add_subcommand("completion", "Print completion for a shell");
  completion->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(
      "Examples:\n"
      "  source <(syrinx completion bash)\n"
      "  syrinx completion zsh > ~/.zfunc/_syrinx\n"
      "  syrinx completion fish > ~/.config/fish/completions/syrinx.fish");
  const auto print = [&command](std::function<std::string()> text) {
    command = [text = std::move(text)] {
      std::fputs(text().c_str(), stdout);
      return std::fflush(stdout) == 0 ? kExitOk : kExitFailed;
    };
  };
  completion->callback([&, print] { print([&] { return completion_script(app, shell); }); });
  CLI::App* manual = app.add_subcommand("manual", "Print the manual page");
  manual->footer("Examples:\n  syrinx manual | man -l -");
  manual->callback([&, print] { print([&] { return manual_page(app, SYRINX_VERSION); }); });
}

void add_serve_security(CLI::App& app, ServeOptions& serve) {
  app.add_option("--tls-cert", serve.tls_cert, "certificate chain (PEM): serve HTTPS");
  app.add_option("--tls-key", serve.tls_key, "private key of the certificate (PEM)");
  app.add_option("--cors-origin", serve.cors_origins,
                 "let pages of this origin (https://example.org) use the server; may be repeated");
  app.add_option("--allowed-host", serve.allowed_hosts,
                 "a name that the server goes by; without one any, on loopback only its own");
  app.add_option("--client-rpm", serve.client_requests_per_min,
                 "requests a minute from one key or address; 0: any number; default: 600, on "
                 "loopback any number");
  app.add_option("--client-concurrency", serve.client_concurrency,
                 "requests at a time from one key or address; 0: any number; default: 32, on "
                 "loopback any number");
  app.add_option("--max-connections-per-address", serve.max_connections_per_address,
                 "0: any number; this machine's own are not counted")
      ->check(at_least(0))
      ->capture_default_str();
  serve.load.engine.max_audio_s = 3600;
  app.add_option("--max-audio", serve.load.engine.max_audio_s,
                 "seconds of audio in one answer; 0: any number")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--header-timeout", serve.header_timeout_s, "seconds to send a request's head")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--body-timeout", serve.body_timeout_s, "seconds to send a request's body")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--idle-timeout", serve.idle_timeout_s, "seconds that an idle connection is kept")
      ->check(above(0))
      ->capture_default_str();
}

/// Every option and its value as a config file; those without a value as comments.
int print_config(const CLI::App& command) {
  std::istringstream lines(command.config_to_str(true, true));
  std::printf("[%s]\n", command.get_name().c_str());
  for (std::string line; std::getline(lines, line);) {
    std::printf("%s%s\n", line.ends_with("=\"\"") ? "# " : "", line.c_str());
  }
  return 0;
}

void add_serve(CLI::App& app, ServeOptions& serve, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("serve", "Answer OpenAI's speech API over HTTP");
  sub->add_option("--host", serve.host, "address to listen on")->capture_default_str();
  sub->add_option("--port", serve.port, "0: any free port")
      ->check(between(0, 65535))
      ->capture_default_str();
  sub->add_option("--api-key-file", serve.api_key_file,
                  "admit only who has one of these keys, one per line (or set SYRINX_API_KEY)");
  sub->add_flag("--allow-public", serve.allow_public, "listen beyond this machine without a key");
  sub->add_option(
         "--wyoming-port", serve.wyoming_port,
         "also serve Home Assistant (Wyoming) at this port, usually 10200; 0: any free port")
      ->check(between(0, 65535));
  sub->add_option("--wyoming-host", serve.wyoming_host,
                  "address of that; Wyoming has no keys: beyond this machine say --allow-public")
      ->capture_default_str();
  sub->add_option(
         "--agent-port", serve.agent_port,
         "tell load balancers at this port how much room there is (HAProxy's agent-check); "
         "0: any free port")
      ->check(between(0, 65535));
  sub->add_option("--agent-host", serve.agent_host, "address of that; whoever asks is answered")
      ->capture_default_str();
  sub->add_option("--remote", serve.remote,
                  "NODE=ADDRESS: the stage of this node (codec, flow, vocoder, ...; see inspect) "
                  "runs in the process that listens there; may be repeated, also for several "
                  "processes with the same stage");
  CLI::Option* stage = sub->add_option("--stage", serve.stages,
                                       "serve nobody, but hold these stages of the model for "
                                       "servers that say --remote; needs --listen-stage")
                           ->delimiter(',');
  CLI::Option* listen = sub->add_option("--listen-stage", serve.listen_stage,
                                        "where: path of a socket, open to this user only, or "
                                        "grpc://HOST:PORT");
  stage->needs(listen), listen->needs(stage);
  StageKeys& keys = serve.load.stage_keys;
  CLI::Option* cert =
      sub->add_option("--stage-cert", keys.certificate,
                      "certificate (PEM) of this end of links by grpc:// to other hosts");
  CLI::Option* key = sub->add_option("--stage-key", keys.key, "its key");
  CLI::Option* authority = sub->add_option(
      "--stage-ca", keys.authority, "who signed the other end's certificate; others get nowhere");
  cert->needs(key)->needs(authority), key->needs(cert), authority->needs(cert);
  sub->add_flag("-q,--quiet", serve.quiet, "no line per request");
  sub->add_option("--drain-timeout", serve.drain_timeout_s,
                  "seconds that running requests get after SIGTERM")
      ->check(at_least(0))
      ->capture_default_str();
  sub->add_option("--stall-timeout", serve.stall_timeout_s,
                  "seconds after which a client that does not read is cut off")
      ->check(above(0))
      ->capture_default_str();
  sub->add_option("--max-body-bytes", serve.max_body_bytes, "largest request")
      ->check(between(1024, 1 << 30))
      ->capture_default_str();
  sub->add_option("--max-upload-bytes", serve.max_upload_bytes,
                  "largest request that carries a recording, to be cloned or written down")
      ->check(between(1024, 1 << 28))
      ->capture_default_str();
  sub->add_option(
      "--ears", serve.ears,
      "what recognises speech: pocketsphinx, or a Whisper (a directory or Org/Name); auto: "
      "pocketsphinx, where it is installed; none; "
      "may be repeated, the first is OpenAI's 'whisper-1' (default: auto)");
  sub->add_option("--max-recording", serve.max_heard_s,
                  "seconds of one recording that is written down")
      ->check(above(0))
      ->capture_default_str();
  sub->add_option(
         "--predict", serve.predict,
         "draft answers, and speak their first sentence, while the question is still being "
         "said or typed (/v1/realtime): on, ask (in sessions that ask for it), off; auto: on where "
         "--threads leaves the ears a core, or with --device cuda, else ask")
      ->check(CLI::IsMember({"auto", "on", "ask", "off"}))
      ->capture_default_str();
  add_prediction(*sub, serve.prediction);
  sub->add_flag("--decode-in-server", serve.decode_in_server,
                "decode what clients send in the server's own process, not in confined children");
  add_store(*sub, serve.voice_store);
  sub->add_flag("--no-voice-upload", serve.no_voice_upload,
                "clients may neither add nor remove voices");
  sub->add_option("--voice-alias", serve.voice_aliases,
                  "NAME=VOICE: what clients call a voice or a mix, as another vendor's id; may be "
                  "repeated");
  sub->add_option("--model-alias", serve.model_aliases,
                  "NAME=MODEL: what clients call a model; may be repeated");
  sub->add_flag("--strict", serve.strict,
                "refuse requests with instructions for a model that follows none, instead of "
                "speaking without them and saying so (X-Warning)");
  sub->add_option("--voice-cache-mib", serve.voice_cache_mib,
                  "memory for cloned voices that were used lately")
      ->check(between(1, 1 << 20))
      ->capture_default_str();
  sub->add_option("--max-encode-wait", serve.load.engine.max_encode_wait_s,
                  "seconds of predicted wait past which recordings get a 503")
      ->check(at_least(0))
      ->capture_default_str();
  sub->add_option("--max-connections", serve.max_connections, "open at a time")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  add_serve_security(*sub, serve);
  add_models(*sub, serve);
  add_engine(*sub, serve.load.engine);
  sub->fallthrough();  // lets --config stand after the command
  CLI::Option* print =
      sub->add_flag("--print-config")->description("print every option as a config file and end");
  print->configurable(false);
  sub->callback([&serve, &command, sub, print] {
    if (print->count() > 0) {
      command = [sub] { return print_config(*sub); };
    } else {
      command = [&serve] { return serve.stages.empty() ? run_serve(serve) : run_stages(serve); };
    }
  });
}

void add_trace(CLI::App& app, TraceCommand& trace, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("trace",
                                     "Speak in f32, greedily unless told otherwise, and keep ids, "
                                     "logits, frames and samples for comparing");
  trace.load.weights = "f32";
  sub->add_option("-t,--text", trace.request.text, "what to speak")->required();
  sub->add_option("--dump", trace.output, "safetensors file")->required();
  sub->add_option("--logit-steps", trace.logit_steps, "steps of which the logits are kept")
      ->check(at_least(0))
      ->capture_default_str();
  add_model(*sub, trace.load);
  add_request(*sub, trace.request);
  add_voice_choice(*sub, trace.voice);
  sub->add_option("--text-in-prompt", trace.request.text_in_prompt,
                  "all text in the prompt, or word by word beside the audio (true, false)");
  sub->callback([&] { command = [&trace] { return run_trace(trace); }; });
}

void add_inspect(CLI::App& app, LoadOptions& load, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("inspect", "Show what a model is made of");
  sub->add_option("name", load.model, "built-in voice, directory or Org/Name");
  add_model(*sub, load);
  sub->callback([&] { command = [&load] { return run_inspect(load); }; });
}

void add_hub(CLI::App& app, HubPullOptions& pull, std::function<int()>& command) {
  CLI::App* hub = app.add_subcommand("hub", "Models of the hub");
  hub->require_subcommand(1);
  CLI::App* sub = hub->add_subcommand("pull",
                                      "Download models into the hub's local cache, or go on with "
                                      "it (HF_ENDPOINT, HF_HOME, HF_TOKEN)");
  sub->add_option("model", pull.models, "Org/Name or Org/Name@revision")->required();
  sub->add_option("--include", pull.include, "only files like this: '*.safetensors'; repeatable");
  sub->callback([&] { command = [&pull] { return run_hub_pull(pull); }; });
}

void add_bench(CLI::App& app, BenchOptions& bench, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("bench", "Measure a server, or an engine in this process");
  add_bench_arguments(*sub, bench);
  add_model(*sub, bench.load);
  add_request(*sub, bench.request);
  add_engine(*sub, bench.load.engine);
  sub->callback([&] { command = [&bench] { return run_bench(bench); }; });
}

void add_simulate(CLI::App& app, SimulateOptions& simulate, std::function<int()>& command) {
  CLI::App* sub =
      app.add_subcommand("simulate", "Compute what a load would meet, from measured costs");
  add_simulate_arguments(*sub, simulate);
  sub->callback([&] { command = [&simulate] { return run_simulate(simulate); }; });
}

int run(int argc, char** argv) {
  CLI::App app("Syrinx: a streaming server for speech language models", "syrinx");
  app.require_subcommand(1);
  app.set_version_flag("--version", SYRINX_VERSION);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.set_config("--config", "", "TOML file: options of a command under its name, as [serve]");
  const auto config = std::make_shared<LocatedConfig>(app);
  app.config_formatter(config);
  std::function<int()> command;
  SayOptions say;
  ChatOptions chat;
  ServeOptions serve;
  TraceCommand trace;
  LoadOptions inspect;
  BenchOptions bench;
  BookOptions book;
  std::string shell;
  HubPullOptions pull;
  VoiceOptions voice;
  SimulateOptions simulate;
  TranscribeOptions transcribe;
  BatchOptions batch;
  TopOptions top;
  add_say(app, say, command);
  add_chat(app, chat, command);
  add_book(app, book, command);
  add_batch(app, batch, command);
  add_voice_command(app, voice, command);
  add_transcribe(app, transcribe, command);
  add_serve(app, serve, command);
  add_top(app, top, command);
  add_trace(app, trace, command);
  add_inspect(app, inspect, command);
  add_bench(app, bench, command);
  add_hub(app, pull, command);
  add_simulate(app, simulate, command);
  add_texts(app, shell, command);
  // Last, because commands inherit what is there when they are made.
  app.footer(
      "Examples:\n"
      "  syrinx say \"Good morning.\"       speak\n"
      "  syrinx serve                     OpenAI's speech API and a page at http://127.0.0.1:8080\n"
      "  syrinx book alice.txt            a whole book, resumable\n"
      "  syrinx COMMAND --help            all options, with examples\n\n"
      "Exit codes: 0 done, 1 failed, 2 the command line makes no sense, 3 spoken but not to the "
      "end.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help, --version
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (const CLI::App* asked = asks_for_help(app, arguments)) {
      std::fputs(asked->help().c_str(), stderr);
    } else {
      std::fprintf(stderr, "syrinx: %s\n", usage_fault(app, error, *config, arguments).c_str());
    }
    return kExitUsage;
  }
  return command();
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == syrinx::kDecodeHelperCommand) {
    syrinx::run_decode_helper();
  }
  try {
    return syrinx::run(argc, argv);
  } catch (const syrinx::UsageError& error) {
    std::fprintf(stderr, "syrinx: %s\n", error.what());
    return syrinx::kExitUsage;
  } catch (const syrinx::Interrupted& interrupted) {
    syrinx::end_by(interrupted);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "syrinx: %s\n", error.what());
    return syrinx::kExitFailed;
  }
}
