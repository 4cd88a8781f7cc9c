"""Random sentences of the kind that voice assistants and announcements say."""

NAMES = ("Alice Bruno Carmen David Elena Felix Grace Hannah Isaac Julia Kevin Laura Martin Nora "
         "Oscar Paula Quentin Rachel Samuel Teresa Umar Victor Wendy Xavier Yasmin Zoe Michael "
         "Sarah Thomas Emily Daniel Olivia James Sophia William Charlotte George Mary").split()
SURNAMES = ("Smith Johnson Brown Miller Davis Garcia Wilson Anderson Taylor Moore Jackson White "
            "Harris Clark Lewis Walker Young King Wright Lopez Hill Green Adams Baker").split()
CITIES = ("Paris London Berlin Madrid Rome Vienna Tokyo Chicago Boston Seattle Denver Dallas "
          "Houston Phoenix Toronto Sydney Dublin Oslo Helsinki Prague Lisbon Athens Cairo Delhi "
          "Singapore Amsterdam Brussels Zurich Montreal Portland").split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = ("January February March April May June July August September October November "
          "December").split()
ADJ = ("quick quiet bright narrow heavy gentle modern ancient yellow purple strange simple broken "
       "careful friendly expensive cheap useful dangerous beautiful ordinary nervous polite "
       "enormous tiny frozen wooden electric digital natural public private royal rural").split()
NOUN = ("river window garden kitchen computer telephone mountain engine bottle letter picture "
        "teacher doctor driver student village bridge market hospital library station airport "
        "museum language question answer problem solution machine keyboard battery camera "
        "umbrella jacket sandwich coffee breakfast orange chicken elephant rabbit horse "
        "neighbor captain judge lawyer nurse painter singer friend cousin daughter brother "
        "island forest desert valley ocean beach weather thunder shadow mirror ladder hammer "
        "pencil notebook envelope package ticket passport suitcase bicycle carriage "
        "vehicle").split()
VERB = ("opened closed watched followed carried painted repaired borrowed returned measured "
        "discovered ignored described collected delivered finished started changed noticed "
        "remembered forgot imagined improved destroyed protected questioned moved found lost "
        "bought sold chose caught pushed pulled washed cleaned wrapped").split()
ADV = ("slowly quickly carefully quietly suddenly usually recently finally almost certainly "
       "probably often rarely already together outside yesterday tonight tomorrow").split()
TECH = ("server database network router software hardware processor memory firewall password "
        "algorithm compiler browser keyboard website application download update backup "
        "microphone speaker bluetooth interface protocol kernel container cluster cache "
        "graphics thread pipeline model token benchmark sample encoder decoder").split()
FOOD = ("pasta bread butter cheese tomato soup apple banana lemon salad rice potatoes pizza "
        "chocolate honey sugar pepper mushrooms salmon beef yogurt cereal pancakes").split()
WEATHER = ("sunny cloudy rainy windy foggy stormy snowy clear humid freezing mild warm").split()
UNITS = ("miles kilometers meters minutes hours days weeks pounds kilograms liters degrees "
         "percent").split()
TASKS = ("call the dentist", "water the plants", "buy groceries", "take out the trash",
         "send the report", "pick up the children", "pay the electricity bill", "walk the dog",
         "charge the car", "book a table", "renew the insurance", "clean the garage",
         "answer the email", "prepare the slides", "check the oven", "feed the cat")

SHORT = ["Yes.", "No.", "Okay.", "Hello.", "Hi there!", "Goodbye.", "Thank you.", "Please.",
         "Sorry.", "Of course.", "Sure.", "Right.", "Maybe.", "I see.", "Good morning.",
         "Good night.", "Good evening.", "Welcome back.", "Well done!", "Not yet.", "One moment.",
         "Really?", "Are you sure?", "Ready?", "Is that all?", "What?", "Why not?", "Who is it?",
         "Stop.", "Go on.", "Turn left.", "Turn right.", "Done.", "Never mind.", "No problem.",
         "You're welcome.", "Excuse me.", "See you soon.", "All right.", "Let's go.",
         "Hello, world.",
         "One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight.", "Nine.", "Ten.",
         "Zero.", "Eleven.", "Twelve.", "Twenty.", "A hundred.", "A thousand.", "Help!", "Wait.",
         "Testing.", "Hello, how are you?", "Can you hear me?", "Yes, please.", "No, thanks."]

PATTERNS = (
    "The weather in {city} will be {weather} on {day}, with a high of {n100} degrees.",
    "It is {weather} and {n100} degrees in {city} right now.",
    "Tomorrow will be {weather}, with a {n100} percent chance of rain.",
    "Expect {weather} skies in the morning and {weather} conditions by the evening.",
    "Your timer for {n60} minutes is set.", "Your alarm is set for {time} on {day}.",
    "I have set a timer for {n60} minutes and {n60} seconds.",
    "Reminder: {task} at {time}.", "I will remind you to {task} on {day}.",
    "You have {n20} new messages and {n20} missed calls.",
    "The meeting with {name} starts at {time}.", "{name} {surname} sent you a message.",
    "Your package will arrive on {day}, {month} {ord}.",
    "Today is {day}, {month} {ord}, {year}.", "She was born on {month} {ord}, {year}.",
    "The battery is at {n100} percent.", "In {n900} feet, turn {side} onto {surname} Street.",
    "Take the next exit and keep {side}.", "Continue straight for {n20} {units}.",
    "The next train to {city} leaves from platform {n20} at {time}.",
    "Flight {n900} to {city} is now boarding at gate {n60}.",
    "The {noun} costs {n100} dollars and {n100} cents.", "That will be {n900} dollars, please.",
    "The total is {big}.", "The answer is {dec}.", "Your code is {d} {d} {d} {d}.",
    "Please call {d}{d}{d}-{d}{d}{d}-{d}{d}{d}{d}.",
    "About {big} people live in {city}.", "{n20} plus {n20} equals {n60}.",
    "{n100} minus {n20} is {n60}.", "{n20} times {n20} makes {n900}.",
    "Chapter {n20}: the {adj} {noun}.", "Room {n900} is on the {side} side.",
    "Hello {name}, how are you today?", "Good morning, {name}!", "Good evening, {name} {surname}.",
    "Nice to meet you, {name}.", "Thank you for waiting, {name}.", "Welcome to {city}!",
    "How can I help you, {name}?", "Would you like {food} or {food}?",
    "Do you want me to {task}?", "Shall I {task} now?", "Can you {task} on {day}?",
    "Is the {noun} still {adj}?", "Are the {noun} and the {noun} ready?",
    "Did {name} {surname} call from {city}?", "Have you seen the {adj} {noun}?",
    "Will it be {weather} on {day}?", "Could you repeat the question, please?",
    "What is the {adj} {noun} for?", "Where did {name} put the {noun}?",
    "When does the {noun} open on {day}?", "Why was the {noun} so {adj}?",
    "How many {units} is it to {city}?", "Who {verb} the {noun}?", "Which {noun} do you prefer?",
    "I'm sorry, I didn't understand that.", "I don't know the answer to that question, {name}.",
    "Sorry, something went wrong with the {tech}.", "Please try again in {n20} minutes.",
    "The {tech} could not connect to the {tech}.", "Your {tech} has been updated.",
    "The {tech} needs {n100} gigabytes of memory.",
    "Version {n20} point {d} of the {tech} is ready.",
    "Restart the {tech}, then check the {tech} and the {tech}.",
    "The {adj} {tech} uses {n900} megabytes.", "Each {tech} runs {n20} times per second.",
    "The quick {adj} {noun} jumps over the lazy {noun}.",
    "The {adj} {noun} {verb} the {adj} {noun}.", "{name} {verb} the {noun} {adv}.",
    "{adv_c}, the {noun} {verb} a {adj} {noun}.", "My {noun} is {adj}, but yours is {adj}.",
    "We {verb} the {noun}, the {noun}, and the {noun}.",
    "If the {noun} is {adj}, ask the {noun} in {city}.",
    "{name} and {name} {verb} the {noun} in {month}.", "There is a {adj} {noun} near the {noun}.",
    "Nobody {verb} the {noun} until {day}.", "I would like some {food} with {food}, please.",
    "Mix the {food} with the {food}, and wait {n20} minutes.", "Add {n20} spoons of {food}.",
    "Here is what I found about the {noun}.", "Playing music from {name} {surname}.",
    "The lights in the kitchen are now {onoff}.", "Turning the heating {onoff}.",
    "I turned the {noun} {onoff}, {name}.", "The door is {adj}.",
    "It happened in {year}, when the {noun} was {adj}.",
    "Mr. {surname} and Mrs. {surname} {verb} the {noun}.", "Dr. {surname} is {adv} {adj}.",
    "This is a test of the {adj} {noun}.", "Speech can be {adj}, and it can be {adj}.",
    "They say the {noun} is worth {big} dollars.", "The {ord} {noun} is {adj}; the {ord} is not.",
    "\"{name},\" she said, \"where is the {noun}?\"", "Yes, the {noun} is {adj}.",
    "No, {name} {verb} it {adv}.", "Oh, what a {adj} {noun}!", "Be careful with the {noun}!",
    "Of course, {name}; the {noun} is {adv} here.", "Let me check the {tech} for you.",
    "Your appointment with Doctor {surname} is on {month} {ord} at {time}.",
    "The temperature dropped to minus {n20} degrees in {city}.",
    "The game between {city} and {city} ended {n20} to {n20}.",
    "Open the {noun}, take the {noun}, and close it {adv}.",
)


def ordinal(n):
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def fillers(rng):
    """Returns a function per slot name that draws a random value; called for every slot of a pattern."""
    pick = rng.choice
    return {
        "city": lambda: pick(CITIES), "weather": lambda: pick(WEATHER), "day": lambda: pick(DAYS),
        "month": lambda: pick(MONTHS), "name": lambda: pick(NAMES),
        "surname": lambda: pick(SURNAMES),
        "adj": lambda: pick(ADJ), "noun": lambda: pick(NOUN), "verb": lambda: pick(VERB),
        "adv": lambda: pick(ADV), "adv_c": lambda: pick(ADV).capitalize(),
        "tech": lambda: pick(TECH),
        "food": lambda: pick(FOOD), "units": lambda: pick(UNITS), "task": lambda: pick(TASKS),
        "side": lambda: pick(("left", "right")), "onoff": lambda: pick(("on", "off")),
        "d": lambda: str(rng.randint(0, 9)), "n20": lambda: str(rng.randint(1, 20)),
        "n60": lambda: str(rng.randint(1, 60)), "n100": lambda: str(rng.randint(1, 100)),
        "n900": lambda: str(rng.randint(100, 999)), "ord": lambda: ordinal(rng.randint(1, 31)),
        "big": lambda: f"{int(10 ** rng.uniform(3, 6.9)):,}",
        "year": lambda: str(rng.randint(1700, 2035)),
        "dec": lambda: f"{rng.uniform(0, 100):.2f}",
        "time": lambda: f"{rng.randint(1, 12)}:{rng.randint(0, 11) * 5:02d} {pick(('AM', 'PM'))}",
    }


def make_sentence(rng):
    slots = fillers(rng)
    text = rng.choice(PATTERNS)
    while "{" in text:
        start = text.index("{")
        end = text.index("}", start)
        text = text[:start] + slots[text[start + 1:end]]() + text[end + 1:]
    return text[0].upper() + text[1:]
