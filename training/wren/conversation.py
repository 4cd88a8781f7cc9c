"""Makes conversations as the chat template writes them: text parts, and which of them wren must write."""
import skills

SYSTEM, USER, TOOL, ASSISTANT, END = "<|System|>", "<|User|>", "<|Tool|>", "<|Assistant|>", "<|End|>"
SPECIAL = [SYSTEM, USER, TOOL, ASSISTANT, END]
CALL = ["<tool_call>", "</tool_call>"]
# How many parts of 100 conversations use each skill.
MIX = {"talk": 8, "clock": 9, "sums": 26, "units": 11, "capitals": 10, "spelling": 13,
       "definitions": 10, "timers": 7, "unknown": 11}


def head(now, tools):
    weekday, day, month, year, time = now
    return SYSTEM + " ".join([weekday, str(day), month, str(year), time, *tools])


def draw_tools(rng):
    return rng.choice([(), (), ("set_timer",), ("set_timer", "cancel_timer"), ("set_timer", "cancel_timer")])


def draw(rng, skill, held, now, tools):
    """Returns the turns of a random conversation of a skill."""
    maker = getattr(skills, skill)
    if skill == "clock":
        return maker(rng, held, now)
    if skill == "timers":
        return maker(rng, held, tools)
    return maker(rng, held)


def asked(question):
    """Returns a question as the template writes it, up to the beginning of the answer."""
    if question.startswith("tool:"):
        return TOOL + question[5:] + ASSISTANT
    return USER + question + ASSISTANT


def endless(rng, skill=None):
    """Yields the parts (text, whether wren writes it) of an endless conversation, for training."""
    now, tools = draw_now_and_tools(rng)
    yield head(now, tools), False
    names, weights = list(MIX), list(MIX.values())
    while True:
        chosen = skill or rng.choices(names, weights)[0]
        for question, answer in draw(rng, chosen, False, now, tools):
            yield asked(question), False
            yield answer + END, True


def draw_now_and_tools(rng):
    return skills.draw_now(rng), draw_tools(rng)
