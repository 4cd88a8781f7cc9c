"""Questions and answers of each skill, as a person types them or PocketSphinx writes them.

A skill is a function of (rng, held) that returns a list of turns (question, answer). Later turns refer to
earlier ones. `held` requests a question for the evaluation: a template that no training question uses and, for
values that follow a rule (sums, spelling, durations), a held-out value.
"""
from facts import (ALSO, CAPITALS, DAYS, DEFINED, FAHRENHEIT, FAMOUS, MILES, MONTHS, PLACES, PLURAL, SORRY,
                   TALK, UNITS, UNKNOWN, UNKNOWN_HELD, words)
import wordnet

NOUNS = wordnet.words(1, 4)
VERBS = wordnet.words(2, 8)
ADJECTIVES = wordnet.words(3, 6)
SPELLED = [w for w in dict.fromkeys(wordnet.words(1, 2) + VERBS + ADJECTIVES) if len(w) > 2]
GLOSSES = wordnet.definitions(DEFINED)


def template(rng, held, text):
    """Returns one of the templates of "a/b/c|held d/held e"."""
    common, _, kept = text.partition("|")
    return rng.choice((kept if held else common).split("/"))


def value(rng, held, draw):
    """Returns a drawn value that is held out if `held`, and one that is not held out otherwise."""
    while True:
        drawn = draw()
        if wordnet.held_out(drawn) == held:
            return drawn


def number(rng, n):
    """Returns a number as digits or words."""
    if n < 0:
        return rng.choice(["minus ", "-" if rng.random() < .5 else "negative "]) + str(-n)
    return str(n) if rng.random() < .45 else words(n, "-" if rng.random() < .15 else " ")


def say(n):
    return f"minus {-n}" if n < 0 else str(n)


ASK = ("what is {}/what's {}/how much is {}/calculate {}/{}/{}/tell me {}/please calculate {}/compute {}"
       "/can you work out {}/{} please/what is {} please/what does {} make/what are {}/and what is {}"
       "/can you tell me what {} is/hey what is {}|could you tell me {}/work out {}/i want to know {}")
FORMS = {"plus": "{a} plus {b}/{a} plus {b}/{a} + {b}/{a}+{b}/{a} and {b}/the sum of {a} and {b}",
         "minus": "{a} minus {b}/{a} minus {b}/{a} - {b}/{a}-{b}/{a} take away {b}/{a} less {b}",
         "times": "{a} times {b}/{a} times {b}/{a} x {b}/{a} * {b}/{a}*{b}/{a} multiplied by {b}",
         "divided by": "{a} divided by {b}/{a} divided by {b}/{a} over {b}/{a} {s} {b}/{a}{s}{b}"}
ORDERS = {"plus": "add {a} and {b}/add {b} to {a}/{a} and {b} together",
          "minus": "subtract {b} from {a}/take {b} from {a}/take {b} away from {a}",
          "times": "multiply {a} by {b}/multiply {a} and {b}/{b} times {a} is",
          "divided by": "divide {a} by {b}/how often does {b} go into {a}/how many times does {b} go into {a}"}


def solve(op, a, b):
    """Returns the answer to a sum, or None if wren does not learn sums of this size."""
    if op == "plus":
        return a + b if max(a, b) < 100 else None
    if op == "minus":
        return a - b if max(a, b) < 100 else None
    if op == "times":
        low, high = sorted((a, b))
        known = high <= 12 or (low == 2 and high <= 50) or (low in (0, 1) and high < 100) or \
            (low == 10 and high < 100) or (a == 10 and b < 100) or (b == 10 and a < 100)
        return a * b if known else None
    if b == 0 or a % b or max(b, a // b) > 12:
        return a // 2 if b == 2 and a % 2 == 0 and a <= 100 else None
    return a // b


def answer_sum(op, a, b):
    if max(abs(a), abs(b)) >= (100 if op in ("plus", "minus") else 145):
        return "I only work with whole numbers up to one hundred."
    if op == "times" and solve(op, a, b) is None:
        return "I only know the times tables up to twelve."
    if op == "divided by":
        if b == 0:
            return "Nothing can be divided by zero."
        if solve(op, a, b) is None:
            return f"I do not know {a} divided by {b} as a whole number."
    return f"{say(a)} {op} {say(b)} is {say(solve(op, a, b))}."


def draw_sum(rng, op):
    r = rng.random()
    if op in ("plus", "minus"):
        top = 10 if r < .15 else 20 if r < .35 else 99
        a, b = rng.randint(0, top), rng.randint(0, top)
        return (op, max(a, b), min(a, b)) if op == "minus" and rng.random() < .85 else (op, a, b)
    if op == "times":
        if r < .08:
            return op, *rng.sample([2, rng.randint(13, 50)], 2)
        if r < .13:
            return op, *rng.sample([10, rng.randint(13, 99)], 2)
        if r < .16:
            return op, rng.randint(13, 99), rng.randint(3, 99)
        return op, rng.randint(0, 12), rng.randint(0, 12)
    if r < .12:
        return op, 2 * rng.randint(1, 50), 2
    if r < .25:
        return op, rng.randint(1, 99), rng.randint(0, 12)
    b = rng.randint(1, 12)
    return op, b * rng.randint(0, 12), b


def sums(rng, held, op=None):
    op = op or rng.choice(["plus"] * 4 + ["minus"] * 3 + ["times"] * 3 + ["divided by"] * 2)
    if op in ("plus", "minus"):  # a rule, so pairs are held out; the other tables are facts, so only templates are
        op, a, b = value(rng, held, lambda: draw_sum(rng, op))
    else:
        op, a, b = draw_sum(rng, op)
    if not held and rng.random() < .04 and op in ("plus", "minus", "times"):
        big = rng.choice([rng.randint(100, 999), rng.randint(1000, 99999), f"{rng.randint(1, 9)},000",
                          f"{rng.randint(0, 30)}.{rng.randint(1, 9)}"])
        pair = [str(big) if isinstance(big, str) or big > 9999 or rng.random() < .5 else words(big),
                number(rng, rng.randint(1, 200))]
        rng.shuffle(pair)
        text = template(rng, False, ASK).format(
            template(rng, False, FORMS[op]).format(a=pair[0], b=pair[1]))
        return [(text, "I only work with whole numbers up to one hundred.")]
    shown = dict(a=number(rng, a), b=number(rng, b))
    if not held and rng.random() < .2:
        text = template(rng, False, ORDERS[op]).format(**shown)
    else:
        text = template(rng, held, ASK).format(template(rng, False, FORMS[op]).format(**shown, s="/"))
    turns, result = [(text, answer_sum(op, a, b))], solve(op, a, b)
    if op in ("plus", "minus") and max(a, b) >= 100:
        result = None
    while result is not None and 0 <= result < 100 and rng.random() < (.9 if held else .3):
        text, op, b = follow_up(rng, held, result)
        turns.append((text, answer_sum(op, result, b)))
        result = solve(op, result, b)
        if held:
            break
    return turns


FOLLOW = {"plus": "plus {b}/and plus {b}/add {b}/now add {b}/and {b} more/and if you add {b}/+ {b}"
                  "|then plus {b}/and then add {b}",
          "minus": "minus {b}/and minus {b}/subtract {b}/now subtract {b}/take away {b}/- {b}"
                   "|then minus {b}/and then subtract {b}",
          "times": "times {b}/and times {b}/multiply by {b}/now multiply it by {b}/multiply that by {b}/* {b}"
                   "|then times {b}/and then times {b}",
          "divided by": "divided by {b}/and divided by {b}/divide by {b}/now divide it by {b}/divide that by {b}"
                        "|then divided by {b}/and then divided by {b}"}


def follow_up(rng, held, result):
    options = ["plus", "plus", "minus"] + (["times"] if result <= 50 else [])
    divisors = [d for d in range(2, 13) if result and solve("divided by", result, d)]
    op = rng.choice(options + (["divided by"] if divisors else []))
    if op == "times":
        b = rng.randint(0, 12) if result <= 12 else 2
        if b == 2 and not held and rng.random() < .3:
            return rng.choice(["double it", "twice that", "double that", "and doubled"]), op, 2
    elif op == "divided by":
        b = rng.choice(divisors)
        if b == 2 and not held and rng.random() < .5:
            return rng.choice(["half of it", "half of that", "halve it", "and half of that"]), op, 2
    else:
        b = rng.randint(0, result if op == "minus" else 60)
    return template(rng, held, FOLLOW[op]).format(b=number(rng, b)), op, b


def plural(unit, n=2):
    return unit if n == 1 else PLURAL.get(unit, unit + "s")


CONVERT = ("how many {to} are in {n}/how many {to} are there in {n}/how many {to} is {n}/how many {to} in {n}"
           "/convert {n} to {to}/{n} in {to}/{n} to {to}/what is {n} in {to}/{n} are how many {to}"
           "/how many {to} has {n}/can you convert {n} to {to}/please convert {n} into {to}"
           "/tell me how many {to} are in {n}/how many {to} make {n}"
           "|change {n} into {to}/please give me {n} in {to}/how many {to} do you get from {n}")


def units(rng, held):
    r = rng.random()
    if r < .08:
        n, km = rng.choice(list(MILES.items()))
        ask = template(rng, held, CONVERT).format(n=number(rng, n) + " miles", to="kilometers")
        return [(ask, f"{n} miles are about {km} kilometers.")]
    if r < .18:
        c, f = rng.choice(list(FAHRENHEIT.items()))
        short = rng.random() < .5
        start, to = (("celsius", "fahrenheit") if short else ("degrees celsius", "degrees fahrenheit"))
        if rng.random() < .5:
            ask = template(rng, held, CONVERT).format(n=f"{number(rng, c)} {start}", to=to)
            return [(ask, f"{c} degrees Celsius are {f} degrees Fahrenheit.")]
        ask = template(rng, held, CONVERT).format(n=f"{number(rng, f)} {to}", to=start)
        return [(ask, f"{f} degrees Fahrenheit are {c} degrees Celsius.")]
    one, to, factor, most = rng.choice(UNITS)
    if r < .24:
        other = rng.choice([u for u in UNITS if u[0] != one and u[1] != to])
        kinds = {"time": "hour minute day week year decade century", "length":
                 "foot yard mile kilometer meter centimeter inches feet", "mass": "kilogram gram ton pound",
                 "volume": "liter gallon quart", "data": "byte"}
        kind = next(k for k, v in kinds.items() if one in v.split())
        if other[0] not in kinds[kind].split():
            n = rng.randint(2, 50)
            ask = template(rng, held, CONVERT).format(n=f"{number(rng, n)} {plural(one)}", to=other[1])
            return [(ask, f"I can not convert {plural(one)} to {other[1]}.")]
    n = 1 if rng.random() < .25 else rng.randint(1, most)
    if held and most >= 20:
        n = value(rng, True, lambda: rng.randint(1, most))
    elif most >= 20:
        n = value(rng, False, lambda: rng.randint(1, most))
    amount = f"{n} {plural(one, n)}"
    result = f"{n * factor} {to}"
    if r > .85 and n * factor < 10000:  # converts in the other direction
        shown = number(rng, n * factor) if n * factor <= 120 else str(n * factor)
        ask = template(rng, held, CONVERT).format(n=f"{shown} {to}", to=plural(one))
        return [(ask, f"{result} are {amount}.")]
    article = "an" if one == "hour" else "a"
    shown = rng.choice([article, article, "one", "1"]) if n == 1 else number(rng, n)
    ask = template(rng, held, CONVERT).format(n=f"{shown} {plural(one, n)}", to=to)
    turns = [(ask, f"{amount} {'is' if n == 1 else 'are'} {result}.")]
    if rng.random() < .25 and most > 1:
        m = value(rng, False, lambda: rng.randint(2, most)) if most >= 20 else rng.randint(2, most)
        more = template(rng, held, "and {n}/and in {n}/what about {n}/and how many in {n}|how about {n}")
        turns.append((more.format(n=f"{number(rng, m)} {plural(one, m)}"),
                      f"{m} {plural(one, m)} are {m * factor} {to}."))
    return turns


CAPITAL = ("what is the capital of {}/what's the capital of {}/capital of {}/the capital of {}"
           "/which city is the capital of {}/name the capital of {}/tell me the capital of {}"
           "/do you know the capital of {}/{} capital/what is the capital city of {}"
           "/please tell me the capital of {}/what city is the capital of {}/can you name the capital of {}"
           "/what is the capital of the country {}/hey what is the capital of {}"
           "|could you tell me what the capital of {} is/i would like to know the capital of {}"
           "/which is the capital of {}")
COUNTRY = ("what country is {} the capital of/{} is the capital of which country/which country has the capital {}"
           "/{} is the capital of what/what is {} the capital of/of which country is {} the capital"
           "|which country is {} the capital of/tell me which country {} is the capital of")
ANOTHER = "and of {}/and {}/what about {}/and the capital of {}/and what about {}|how about {}/and for {}"
SPELL_THAT = ("how do you spell that/spell it/spell that/how is that spelled/can you spell that/how do you spell it"
              "|could you spell that")
BY_CAPITAL = {}
for _country, _capital in CAPITALS.items():
    BY_CAPITAL.setdefault(_capital, _country)
BY_CAPITAL["London"] = "the United Kingdom"


def spelled(word):
    return " ".join(c for c in word.upper() if c.isalpha()) + "."


def draw_country(rng):
    return rng.choice(FAMOUS if rng.random() < .5 else list(CAPITALS))


def capitals(rng, held):
    country = draw_country(rng)
    r = rng.random()
    if r < .1:
        capital = CAPITALS[country]
        ask = template(rng, held, COUNTRY).format(capital.lower())
        return [(ask, f"{capital} is the capital of {BY_CAPITAL[capital]}.")]
    if r < .18:
        ask = template(rng, held, CAPITAL).format(rng.choice(PLACES + rng.sample(NOUNS, 10)))
        return [(ask, "Sorry, I do not know that capital.")]

    def asked(c):
        return rng.choice(ALSO[c] + [c]).lower() if c in ALSO else c.lower()

    def told(c):
        return f"The capital of {c} is {CAPITALS[c]}."
    turns = [(template(rng, held, CAPITAL).format(asked(country)), told(country))]
    while rng.random() < .25:
        country = draw_country(rng)
        turns.append((template(rng, held, ANOTHER).format(asked(country)), told(country)))
    if rng.random() < .06:
        turns.append((template(rng, held, SPELL_THAT), spelled(CAPITALS[country])))
    return turns


SPELL = ("spell {}/how do you spell {}/how is {} spelled/can you spell {}/please spell {}/spell the word {}"
         "/what is the spelling of {}/how do i spell {}/spell out {}/spell {} please/how to spell {}"
         "/how do you write {}/can you spell the word {}/how do you spell the word {}"
         "|could you spell {} for me/tell me how to spell {}/i want you to spell {}")


def spelling(rng, held):
    def draw():
        return SPELLED[int(len(SPELLED) * rng.random() ** 1.5)]
    word = value(rng, held, draw)
    turns = [(template(rng, held, SPELL).format(word), spelled(word))]
    while rng.random() < .2:
        word = value(rng, held, draw)
        turns.append((template(rng, held, "and {}/what about {}/and the word {}/now {}|how about {}").format(word),
                      spelled(word)))
    return turns


DEFINE = ("what is {a}/what's {a}/what is {a}/define {w}/what does {w} mean/tell me what {a} is/what does the word {w} mean"
          "/what is the meaning of {w}/give me a definition of {w}/explain the word {w}/explain what {a} is"
          "/do you know what {a} is/what do you know about {w}/what is the definition of {w}/definition of {w}"
          "/please define {w}/can you explain what {a} is"
          "|can you define {w}/please tell me what {a} is/could you explain the word {w}")


def with_article(word):
    return ("an " if word[0] in "aeiou" and word not in ("uniform", "university") else "a ") + word


def definitions(rng, held):
    def one(form):
        if rng.random() < .25:
            word = value(rng, held, lambda: rng.choice(NOUNS))
            while word in GLOSSES:
                word = value(rng, held, lambda: rng.choice(NOUNS))
            answer = f"Sorry, I do not know the word {word}."
        else:
            word = rng.choice(DEFINED)
            answer = f"{with_article(word).capitalize()} is {GLOSSES[word]}."
        return (form.format(w=word, a=with_article(word)), answer), word
    turn, word = one(template(rng, held, DEFINE))
    turns = [turn]
    if rng.random() < .2:
        turn, word = one(template(rng, held, "and {a}/and {w}/what about {a}/and what is {a}|how about {a}"))
        turns.append(turn)
    if rng.random() < .1:
        turns.append((template(rng, held, SPELL_THAT), spelled(word)))
    return turns


def clock(rng, held, now):
    """now: (weekday, day, month, year, "14:05")."""
    weekday, day, month, year, time = now
    kinds = [("what time is it/what is the time/what's the time/tell me the time/time/the time please/time please"
              "/do you know what time it is/can you tell me the time/what time is it now/current time"
              "/how late is it/please tell me the time/what is the current time/do you have the time"
              "|could you tell me the time/what time do we have", f"It is {time}."),
             ("what day is it/what day is it today/which day is it/what day is today/what day of the week is it"
              "/today is what day/what weekday is it/tell me what day it is|which day is today/what weekday is today",
              f"Today is {weekday}."),
             ("what is the date/what's the date/what date is it/what is today's date/tell me the date/the date please"
              "/what is the date today/what day of the month is it/date/today's date/which date is it"
              "/can you tell me the date|could you tell me the date/what date is today",
              f"Today is {weekday}, {day} {month} {year}."),
             ("what month is it/which month is it/what is the month/what month are we in/tell me the month"
              "|which month are we in", f"It is {month}."),
             ("what year is it/which year is it/what is the year/what year are we in/tell me the year"
              "/what is the current year|which year are we in", f"It is {year}."),
             ("what day is tomorrow/which day is tomorrow/what day is it tomorrow/and tomorrow/what is tomorrow"
              "/what will tomorrow be/tomorrow is what day|what weekday is tomorrow",
              f"Tomorrow is {DAYS[(DAYS.index(weekday) + 1) % 7]}."),
             ("what day was yesterday/which day was yesterday/what was yesterday/and yesterday"
              "/what day was it yesterday|what weekday was yesterday",
              f"Yesterday was {DAYS[(DAYS.index(weekday) - 1) % 7]}.")]
    return [(template(rng, held, ask), answer)
            for ask, answer in [rng.choice(kinds[:3] if rng.random() < .5 else kinds)]]


def draw_now(rng):
    return (rng.choice(DAYS), rng.randint(1, 31), rng.choice(MONTHS), rng.randint(2024, 2039),
            f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}")


TIMER = ("set a timer for {d}/set timer for {d}/start a timer for {d}/timer for {d}/set a timer {d}/{d} timer"
         "/wake me in {d}/wake me up in {d}/remind me in {d}/count down {d}/please set a timer for {d}"
         "/can you set a timer for {d}/i need a timer for {d}/set me a timer for {d}/start a countdown of {d}"
         "/timer {d}/set the timer to {d}/please start a timer for {d}/alarm in {d}/ring in {d}/make a timer for {d}"
         "|could you start a timer of {d}/give me a timer for {d}/i want a timer for {d}")
CANCEL = ("cancel the timer/stop the timer/delete the timer/cancel my timer/stop my timer/cancel timer/stop timer"
          "/turn off the timer/please cancel the timer/remove the timer/end the timer/clear the timer"
          "|please stop the timer/kill the timer")
WORKED = """ok/done/true/{"ok": true}/{"status": "ok"}/success/set/started/timer set/the timer is set
{"result": "ok"}/{"success": true}/{"id": 1}/{"id": 7}/timer started/cancelled/{"status": "started"}
{"status":"ok"}/{"ok":true}/{}/null/running/ready""".replace("\n", "/").split("/")
FAILED = """error/failed/false/{"ok": false}/{"error": "busy"}/not possible/no timer/{"success": false}
{"status": "error"}/there is no timer/unknown/{"ok":false}/{"error": "no timer"}/too long""".replace(
    "\n", "/").split("/")


def draw_duration(rng):
    """Returns a random duration (hours, minutes, seconds)."""
    r = rng.random()
    if r < .5:
        return 0, rng.choice([rng.randint(1, 60), rng.choice([1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 45, 90])]), 0
    if r < .65:
        return 0, 0, rng.choice([rng.randint(1, 60), 10, 20, 30, 45, 90])
    if r < .8:
        return rng.randint(1, 12), 0, 0
    if r < .9:
        return rng.randint(1, 6), rng.choice([30, 15, 45, rng.randint(1, 59)]), 0
    return 0, rng.randint(1, 12), rng.choice([30, 15, 45, rng.randint(1, 59)])


def say_duration(rng, duration):
    h, m, s = duration
    if duration == (0, 30, 0) and rng.random() < .3:
        return "half an hour"
    if duration == (0, 15, 0) and rng.random() < .3:
        return "a quarter of an hour"
    if duration == (1, 30, 0) and rng.random() < .5:
        return rng.choice(["an hour and a half", "one and a half hours", "one hour and a half"])
    parts = []
    for n, unit in ((h, "hour"), (m, "minute"), (s, "second")):
        if n == 1:
            parts.append(rng.choice(["an" if unit == "hour" else "a", "one", "1"]) + " " + unit)
        elif n:
            parts.append(f"{number(rng, n)} {unit}s")
    return rng.choice([" and ", " and ", " "]).join(parts)


def call(name, arguments=()):
    inside = ", ".join(f'"{key}": {n}' for key, n in arguments)
    return f'<tool_call>{{"name": "{name}", "arguments": {{{inside}}}}}</tool_call>'


def timers(rng, held, tools):
    """Returns the turns. A turn that begins with "tool:" is the result of the tool."""
    if rng.random() < .2:
        ask = template(rng, held, CANCEL)
        if "cancel_timer" not in tools:
            return [(ask, "Sorry, I can not cancel timers here.")]
        turns, good = [(ask, call("cancel_timer"))], "The timer is cancelled."
    else:
        duration = value(rng, held, lambda: draw_duration(rng))
        ask = template(rng, held, TIMER).format(d=say_duration(rng, duration))
        if "set_timer" not in tools:
            return [(ask, "Sorry, I can not set timers here.")]
        given = [(k, n) for k, n in zip(("hours", "minutes", "seconds"), duration) if n]
        turns, good = [(ask, call("set_timer", given))], "Your timer is set."
    if rng.random() < .5:
        worked = rng.random() < .75
        turns.append(("tool:" + rng.choice(WORKED if worked else FAILED),
                      good if worked else "Sorry, that did not work."))
    return turns


def talk(rng, held):
    # Draws entries at the beginning of TALK, such as greetings, more often than later ones.
    while True:
        said, answer = TALK[int(len(TALK) * rng.random() ** 1.3)]
        if not held or "|" in said:
            return [(template(rng, held, said), answer)]


def unknown(rng, held):
    text = rng.choice(UNKNOWN_HELD if held else UNKNOWN)
    fill = {"N": lambda: value(rng, held, lambda: rng.choice(NOUNS)), "V": lambda: rng.choice(VERBS),
            "A": lambda: rng.choice(ADJECTIVES), "P": lambda: rng.choice(PLACES + list(CAPITALS)).lower()}
    if not held and rng.random() < .08:  # imitates a recogniser's output for noise
        return [(" ".join(rng.choice(rng.choice([NOUNS, VERBS, ADJECTIVES]))
                          for _ in range(rng.randint(2, 6))), SORRY)]
    return [(" ".join(fill[w]() if w in fill else w for w in text.split()), SORRY)]
