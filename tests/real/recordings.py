"""Makes recordings of real speech from Debian and source packages: mono WAV files of 16 kHz in the cache.

    VENV/bin/python tests/real/recordings.py     makes them and lists them

The result is the same each time: noise has a fixed seed, and only listed recordings are joined or mixed.
"""
import dataclasses
import pathlib
import wave

import fetch
import numpy as np

RATE = 16000


@dataclasses.dataclass
class Recording:
    name: str
    language: str        # Whisper's code of the language; "" if there is no speech
    kind: str            # clean, noisy, long, silence or music
    path: pathlib.Path
    text: str = ""       # the spoken words, if the package states them

    def seconds(self):
        with wave.open(str(self.path)) as file:
            return file.getnframes() / RATE


# Prompts of a telephone exchange: one speaker for each language, 8 kHz.
VOICES = {"en": "en_US_f_Allison", "es": "es_MX_f_Allison", "fr": "fr_CA_f_June", "it": "it_IT_m_Carlo",
          "ru": "ru_RU_f_IvrvoiceRU"}
PROMPTS = {
    "en": ["demo-congrats", "demo-instruct", "priv-callee-options", "basic-pbx-ivr-main", "demo-echotest", "vm-options",
           "demo-abouttotry", "demo-moreinfo", "dir-intro", "agent-pass", "vm-goodbye"],
    "es": ["demo-congrats", "demo-echotest", "dir-intro", "vm-msginstruct"],
    "fr": ["demo-congrats", "demo-echotest", "dir-intro", "vm-msginstruct"],
    "it": ["demo-congrats", "demo-echotest", "dir-intro", "vm-msginstruct"],
    "ru": ["demo-congrats", "demo-abouttotry", "dir-intro", "vm-msginstruct"],
}
# Dialogues of a game, spoken by actors.
GAME = {"cs": ["bathyscaph/cs/bat-p-zhov1", "warcraft/cs/war-v-pohadka", "rush/cs/v-upozornit"],
        "nl": ["warcraft/nl/war-v-pohadka", "ending/nl/z-v-pozdrav", "computer/nl/poc-v-vyresil"]}
# An audiobook, read by a volunteer.
BOOK = {"0870": "and mister john dashwood had then leisure to consider how much there might be prudently in his power to do for them",
        "0880": "he was not an ill disposed young man",
        "0890": "unless to be rather cold hearted and rather selfish is to be ill disposed",
        "0920": "had he married a more amiable woman he might have been made still more respectable than he was",
        "0930": "he might even have been made amiable himself"}
CARDS = {"001": "ten of clubs", "002": "four queen of clubs", "003": "seven of clubs", "004": "five five",
         "005": "eight of spades four of clubs seven of hearts"}
JFK = ("and so my fellow americans ask not what your country can do for you ask what you can do for your country")
# Recorded syllables of Mandarin, joined to sentences.
SYLLABLES = {"zh-weather": ("今天天气很好", "ㄐㄧㄣ ㄊㄧㄢ ㄊㄧㄢ ㄑㄧ4 ㄏㄣ3 ㄏㄠ3"),
             "zh-friends": ("我们都是好朋友", "ㄨㄛ3 ㄇㄣ2 ㄉㄡ ㄕ4 ㄏㄠ3 ㄆㄥ2 ㄧㄡ3")}


def read(path, rate=0):
    """Returns a file's samples as floats at 16 kHz. With `rate` the file holds only 16-bit samples of that rate."""
    if rate:
        return np.fromfile(path, "<i2").astype(np.float32) / 32768
    from faster_whisper import decode_audio
    return decode_audio(str(path), sampling_rate=RATE)


def write(path, samples):
    partial = path.with_suffix(".partial")
    with wave.open(str(partial), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    partial.rename(path)


def mixed(speech, noise, decibels):
    """Returns speech with noise that is `decibels` weaker, by their mean squares."""
    noise = np.resize(noise, len(speech))
    ratio = np.sqrt((speech ** 2).mean() / (noise ** 2).mean()) * 10 ** (-decibels / 20)
    both = speech + noise * ratio
    return both / max(1, np.abs(both).max())


def white(seconds, seed):
    return np.random.default_rng(seed).standard_normal(int(seconds * RATE)).astype(np.float32)


def joined(parts, pause_s):
    pause = np.zeros(int(pause_s * RATE), np.float32)
    return np.concatenate([piece for part in parts for piece in (part, pause)])


class Sources:
    """The folders that contain the packages' files."""

    def __init__(self):
        files = fetch.fetch("recordings")
        self.folder = fetch.cache() / "sources"
        for name, path in files.items():
            fetch.unpack(path, self.folder / name)

    def prompt(self, language, name):
        return read(self.folder / f"asterisk-core-sounds-{language}-wav/usr/share/asterisk/sounds" / VOICES[language] / f"{name}.wav")

    def book(self, number):
        folder = self.folder / "pocketsphinx-testdata/usr/share/pocketsphinx/test/data/librivox"
        return read(folder / f"sense_and_sensibility_01_austen_64kb-{number}.wav")

    def data(self, name, rate=0):
        return read(self.folder / "pocketsphinx-testdata/usr/share/pocketsphinx/test/data" / name, rate)

    def game(self, language, name):
        return read(self.folder / f"fillets-ng-data-{language}/usr/share/games/fillets-ng/sound/{name}.ogg")

    def music(self, name):
        return read(self.folder / "asterisk-moh-opsound-wav/usr/share/asterisk/moh" / f"{name}.wav")

    def syllables(self, names):
        folder = self.folder / "gcin-voice/usr/share/gcin-voice/ogg"
        return joined([read(folder / each / "5.ogg") for each in names.split()], 0.05)

    def auditok(self, name):
        return read(self.folder / "auditok/auditok-0.2.0/auditok/data" / f"{name}.wav")

    def president(self):
        return read(self.folder / "pywhispercpp/pywhispercpp-1.5.1/whisper.cpp/samples/jfk.wav")


def minutes_of_prompts(sources):
    """Returns ten minutes: prompts of 2 to 20 seconds in the order of their names, 0.4 s apart."""
    folder = sources.folder / "asterisk-core-sounds-en-wav/usr/share/asterisk/sounds" / VOICES["en"]
    parts, seconds = [], 0.0
    for path in sorted(folder.glob("*.wav")):
        with wave.open(str(path)) as file:
            length = file.getnframes() / file.getframerate()
        if 2 <= length <= 20 and seconds < 600:
            parts.append(read(path))
            seconds += length + 0.4
    return joined(parts, 0.4)


def clean(sources):
    """Yields name, language, samples and spoken words of the speech without added noise."""
    for language, names in PROMPTS.items():
        for name in names:
            yield f"{language}-{name}", language, lambda l=language, n=name: sources.prompt(l, n), ""
    for language, names in GAME.items():
        for name in names:
            yield f"{language}-{name.split('/')[-1]}", language, lambda l=language, n=name: sources.game(l, n), ""
    for number, text in BOOK.items():
        yield f"en-book-{number}", "en", lambda n=number: sources.book(n), text
    for number, text in CARDS.items():
        yield f"en-cards-{number}", "en", lambda n=number: sources.data(f"cards/{n}.wav"), text
    yield "en-jfk", "en", sources.president, JFK
    yield "en-goforward", "en", lambda: sources.data("goforward.raw", RATE), "go forward ten meters"
    for name, (text, syllables) in SYLLABLES.items():
        yield name, "zh", lambda s=syllables: sources.syllables(s), text
    yield "de-mensch", "de", lambda: sources.auditok(
        "was_der_mensch_saet_das_wird_er_vielfach_ernten_44100Hz_mono_lead_trail_silence"), (
        "was der mensch sät das wird er vielfach ernten")


def noisy(sources):
    yield "ar-numbers-noise", "ar", lambda: sources.auditok("1to6arabic_16000_mono_bc_noise"), ""
    yield "en-jfk-white-10dB", "en", lambda: mixed(sources.president(), white(11, 1), 10), JFK
    yield "en-jfk-music-5dB", "en", lambda: mixed(sources.president(), sources.music("manolo_camp-morning_coffee"), 5), JFK
    yield "en-book-white-5dB", "en", lambda: mixed(sources.book("0870"), white(8, 2), 5), BOOK["0870"]
    yield "en-congrats-babble-10dB", "en", lambda: mixed(
        sources.prompt("en", "demo-congrats"), sources.prompt("it", "demo-congrats"), 10), ""
    yield "fr-echotest-white-10dB", "fr", lambda: mixed(sources.prompt("fr", "demo-echotest"), white(20, 3), 10), ""
    yield "es-echotest-music-10dB", "es", lambda: mixed(
        sources.prompt("es", "demo-echotest"), sources.music("macroform-cold_day"), 10), ""


def others(sources):
    yield "silence", "", "silence", lambda: np.zeros(5 * RATE, np.float32)
    yield "faint-noise", "", "silence", lambda: white(20, 4) * 1e-3
    yield "music", "", "music", lambda: sources.music("macroform-cold_day")[:30 * RATE]
    yield "music-short", "", "music", lambda: sources.music("reno_project-system")[5 * RATE:13 * RATE]
    yield "en-book-with-gaps", "en", "long", lambda: joined([sources.book(each) for each in BOOK], 12)
    yield "en-ten-minutes", "en", "long", lambda: minutes_of_prompts(sources)


def all_recordings():
    """Returns every recording, and makes those whose files are not in the cache yet."""
    sources = Sources()
    folder = fetch.cache() / "recordings"
    folder.mkdir(exist_ok=True)
    made = []
    for name, language, make, text in clean(sources):
        made.append((Recording(name, language, "clean", folder / f"{name}.wav", text), make))
    for name, language, make, text in noisy(sources):
        made.append((Recording(name, language, "noisy", folder / f"{name}.wav", text), make))
    for name, language, kind, make in others(sources):
        made.append((Recording(name, language, kind, folder / f"{name}.wav"), make))
    for recording, make in made:
        if not recording.path.is_file():
            write(recording.path, make())
    return [recording for recording, _ in made]


if __name__ == "__main__":
    for each in all_recordings():
        print(f"{each.name:28} {each.kind:8} {each.language:3} {each.seconds():6.1f} s  {each.text[:60]}")
