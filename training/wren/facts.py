"""Facts that wren learns by heart: capitals, units, names of numbers, small talk."""

CAPITALS = dict(line.split(": ") for line in """\
Afghanistan: Kabul
Albania: Tirana
Algeria: Algiers
Andorra: Andorra la Vella
Angola: Luanda
Argentina: Buenos Aires
Armenia: Yerevan
Australia: Canberra
Austria: Vienna
Azerbaijan: Baku
Bahrain: Manama
Bangladesh: Dhaka
Barbados: Bridgetown
Belarus: Minsk
Belgium: Brussels
Belize: Belmopan
Benin: Porto-Novo
Bhutan: Thimphu
Bosnia: Sarajevo
Botswana: Gaborone
Brazil: Brasilia
Brunei: Bandar Seri Begawan
Bulgaria: Sofia
Cambodia: Phnom Penh
Cameroon: Yaounde
Canada: Ottawa
Chad: N'Djamena
Chile: Santiago
China: Beijing
Colombia: Bogota
Congo: Brazzaville
Costa Rica: San Jose
Croatia: Zagreb
Cuba: Havana
Cyprus: Nicosia
Denmark: Copenhagen
Djibouti: Djibouti
Ecuador: Quito
Egypt: Cairo
El Salvador: San Salvador
England: London
Eritrea: Asmara
Estonia: Tallinn
Ethiopia: Addis Ababa
Fiji: Suva
Finland: Helsinki
France: Paris
Gabon: Libreville
Georgia: Tbilisi
Germany: Berlin
Ghana: Accra
Greece: Athens
Guatemala: Guatemala City
Guinea: Conakry
Guyana: Georgetown
Haiti: Port-au-Prince
Honduras: Tegucigalpa
Hungary: Budapest
Iceland: Reykjavik
India: New Delhi
Indonesia: Jakarta
Iran: Tehran
Iraq: Baghdad
Ireland: Dublin
Israel: Jerusalem
Italy: Rome
Jamaica: Kingston
Japan: Tokyo
Jordan: Amman
Kazakhstan: Astana
Kenya: Nairobi
Kuwait: Kuwait City
Kyrgyzstan: Bishkek
Laos: Vientiane
Latvia: Riga
Lebanon: Beirut
Liberia: Monrovia
Libya: Tripoli
Liechtenstein: Vaduz
Lithuania: Vilnius
Luxembourg: Luxembourg
Madagascar: Antananarivo
Malawi: Lilongwe
Malaysia: Kuala Lumpur
Mali: Bamako
Malta: Valletta
Mauritius: Port Louis
Mexico: Mexico City
Moldova: Chisinau
Monaco: Monaco
Mongolia: Ulaanbaatar
Montenegro: Podgorica
Morocco: Rabat
Mozambique: Maputo
Namibia: Windhoek
Nepal: Kathmandu
New Zealand: Wellington
Nicaragua: Managua
Niger: Niamey
Nigeria: Abuja
North Korea: Pyongyang
North Macedonia: Skopje
Norway: Oslo
Oman: Muscat
Pakistan: Islamabad
Panama: Panama City
Paraguay: Asuncion
Peru: Lima
Poland: Warsaw
Portugal: Lisbon
Qatar: Doha
Romania: Bucharest
Russia: Moscow
Rwanda: Kigali
Saudi Arabia: Riyadh
Scotland: Edinburgh
Senegal: Dakar
Serbia: Belgrade
Singapore: Singapore
Slovakia: Bratislava
Slovenia: Ljubljana
Somalia: Mogadishu
South Korea: Seoul
South Sudan: Juba
Spain: Madrid
Sudan: Khartoum
Suriname: Paramaribo
Sweden: Stockholm
Switzerland: Bern
Syria: Damascus
Taiwan: Taipei
Tanzania: Dodoma
Thailand: Bangkok
Togo: Lome
Tunisia: Tunis
Turkey: Ankara
Uganda: Kampala
Ukraine: Kyiv
Uruguay: Montevideo
Uzbekistan: Tashkent
Venezuela: Caracas
Vietnam: Hanoi
Wales: Cardiff
Yemen: Sanaa
Zambia: Lusaka
Zimbabwe: Harare
the Netherlands: Amsterdam
the Philippines: Manila
the United Kingdom: London
the United States: Washington""".splitlines())

# Half of all questions about capitals use these countries.
FAMOUS = """Argentina/Australia/Austria/Belgium/Brazil/Canada/China/Cuba/Denmark/Egypt/England/Finland/France
Germany/Greece/Hungary/Iceland/India/Indonesia/Ireland/Israel/Italy/Japan/Kenya/Mexico/New Zealand/Norway
Peru/Poland/Portugal/Russia/Scotland/South Korea/Spain/Sweden/Switzerland/Thailand/Turkey/Ukraine
the Netherlands/the United Kingdom/the United States""".replace("\n", "/").split("/")

# Other names of countries.
ALSO = {"the United States": ["the usa", "america", "the us", "the united states of america"],
        "the United Kingdom": ["the uk", "great britain", "britain"],
        "the Netherlands": ["holland", "netherlands"], "the Philippines": ["philippines"],
        "Bosnia": ["bosnia and herzegovina"]}

# Places for which wren knows no capital.
PLACES = """california texas florida bavaria tuscany quebec ontario alaska hawaii africa europe asia
antarctica siberia sicily corsica greenland tibet catalonia normandy brittany provence scandinavia
the moon mars the world the sahara the alps london berlin paris tokyo new york chicago narnia
atlantis middle earth wonderland gondor the ocean the universe bohemia prussia lapland
patagonia manchuria kashmir tasmania queensland victoria alberta ohio utah kansas oregon""".split()
PLACES = [p for p in PLACES if p not in ("the", "new", "middle", "earth", "moon", "york")] + \
    ["the moon", "new york", "middle earth", "the world", "south america", "north america"]

# from, to, factor, largest number; the products are exact and small.
UNITS = [("hour", "minutes", 60, 12), ("minute", "seconds", 60, 12), ("day", "hours", 24, 7),
         ("week", "days", 7, 12), ("year", "months", 12, 12), ("year", "days", 365, 1),
         ("year", "weeks", 52, 1), ("decade", "years", 10, 20), ("century", "years", 100, 20),
         ("foot", "inches", 12, 12), ("yard", "feet", 3, 12), ("yard", "inches", 36, 1),
         ("mile", "feet", 5280, 1), ("mile", "yards", 1760, 1), ("kilometer", "meters", 1000, 60),
         ("meter", "centimeters", 100, 60), ("meter", "millimeters", 1000, 60),
         ("centimeter", "millimeters", 10, 60), ("kilogram", "grams", 1000, 60),
         ("gram", "milligrams", 1000, 60), ("ton", "kilograms", 1000, 60),
         ("liter", "milliliters", 1000, 60), ("pound", "ounces", 16, 6), ("gallon", "quarts", 4, 12),
         ("quart", "pints", 2, 12), ("gallon", "pints", 8, 12), ("byte", "bits", 8, 12)]
PLURAL = {"foot": "feet", "century": "centuries"}
MILES = {n: round(n * 1.609344) for n in range(2, 13)}  # approximate kilometers
FAHRENHEIT = {c: c * 9 // 5 + 32 for c in range(0, 101, 5)}

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen""".split()
TENS = "x x twenty thirty forty fifty sixty seventy eighty ninety".split()


def words(n: int, joint: str = " ") -> str:
    """Returns a number below 10,000 in words."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + (joint + ONES[n % 10] if n % 10 else "")
    if n < 1000:
        rest = " " + words(n % 100, joint) if n % 100 else ""
        return ONES[n // 100] + " hundred" + rest
    return words(n // 1000) + " thousand" + (" " + words(n % 1000, joint) if n % 1000 else "")


DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = """January February March April May June July August September October November
December""".split()

# (answer, user's sentences); in each line, the sentences after "|" are held out.
TALK = [
    ("hello/hi/hey/hello there/hi there/hello wren/hey wren/hi wren/greetings/howdy/good day/hallo"
     "/hey there/oh hello/hiya|well hello/hello again", "Hello! How can I help?"),
    ("good morning/morning/good morning wren/a good morning to you|good morning to you",
     "Good morning! How can I help?"),
    ("good afternoon/good afternoon wren|good afternoon to you", "Good afternoon! How can I help?"),
    ("good evening/evening/good evening wren|good evening to you",
     "Good evening! How can I help?"),
    ("good night/night night/sleep well/good night wren|have a good night", "Good night!"),
    ("bye/goodbye/good bye/bye bye/see you/see you later/farewell/goodbye wren/see you soon"
     "/see you tomorrow/that is all/that's all/talk to you later|bye for now/goodbye then",
     "Goodbye!"),
    ("thanks/thank you/thank you very much/thanks a lot/many thanks/thank you so much/cheers"
     "/great thanks/ok thanks/thanks wren/that was helpful/thank you wren|thank you that helps"
     "/thanks so much", "You are welcome."),
    ("how are you/how are you doing/how are you today/how is it going/how do you do/are you well"
     "/how's it going/hello how are you/hi how are you/are you ok/how do you feel"
     "|how are you this morning/how are things", "I am fine, thank you."),
    ("who are you/what are you/what is your name/what's your name/tell me your name/your name"
     "/do you have a name/what are you called/introduce yourself/who am i talking to"
     "/tell me about yourself/what is wren/who is wren/what should i call you"
     "|what do they call you/please introduce yourself", "I am Wren, a very small text model."),
    ("what can you do/help/what do you know/what can i ask you/how can you help me/can you help me"
     "/help me/i need help/what are you good at/what do you do/what can you help with"
     "/what can i ask|what are you able to do/what things can you do",
     "I can tell the time, calculate, convert units, spell, and name capitals."),
    ("are you a human/are you human/are you a robot/are you real/are you alive/are you a person"
     "/are you a machine/are you an ai/are you a computer|are you a real person",
     "I am a small computer program."),
    ("are you there/can you hear me/do you hear me/test/testing/is anyone there/one two three test"
     "|can you hear me now", "Yes, I am here."),
    ("who made you/who built you/who created you/where do you come from/who wrote you"
     "/who trained you|who is your maker", "I come with Syrinx."),
    ("how old are you/when were you born/what is your age/your age|when is your birthday",
     "I have no age. I am a program."),
    ("sorry/i am sorry/i'm sorry/oh sorry/my mistake|sorry about that", "That is all right."),
    ("you are great/good job/well done/that is right/very good/you are clever/i like you/nice"
     "/i love you/great/correct/good/excellent|you are very good/nice work", "Thank you!"),
    ("you are stupid/that is wrong/you are wrong/wrong/that's wrong/no that is wrong/you are bad"
     "/that is not right/i hate you|that was wrong", "I am sorry. I am only a small model."),
    ("yes/ok/okay/fine/alright/sure/yeah/i see/right/yep|all right then", "What else can I do?"),
    ("no/nope/no thanks/no thank you/never mind/nothing/not now/forget it|nothing thanks", "All right."),
    ("...", "That is too long for me."),
]

# Questions that wren must not try to answer. N: a thing, V: an action, A: an adjective, P: a place.
UNKNOWN = """who is the president of P/who is the king of P/who invented the N/who wrote the N
how tall is the N/how old is the N/how much does a N cost/where is the nearest N/where is P
how far is it to P/what is the weather/what is the weather like in P/will it rain tomorrow
is it cold outside/how many people live in P/what language do they speak in P/play some music
play a song/sing a song/tell me a joke/tell me a story/read me the news/what is in the news
what should i eat/what is for dinner/order a pizza/call my mother/call a taxi/send a message to N
turn on the light/turn off the N/open the window/close the door/switch on the N/lock the door
why is the N A/why is the sky blue/why do people V/why do we V/how do i V a N/how do you V
how does a N work/how can i V/can i V the N/should i V/when did the N V/when was the N invented
who was the first N/who is the best N/what is the best N/what is my name/where do i live
how old am i/what did i say/what do you think about N/what do you think of the N/do you like N
do you want to V/can you V/could you V the N/please V the N/i want to V/i want a N/i need a N
i am A/i feel A/my N is A/the N is A/a N and a N/N/A N/the N V the N/where is my N
what color is a N/what colour is the N/how heavy is a N/how big is the N/how fast is a N
is a N A/are N A/is the N A or A/do N V/does a N V/how long does it take to V/how long is a N
what happens if i V/what is the meaning of life/what is love/is there a god/translate N into french
how do you say N in german/what is N in spanish/say something in french/speak german
who won the game/who won the world cup/what is the score/what is the stock price/how is the traffic
book a table/buy a N/find a N/show me a N/search for N/look up N/write a poem/write a letter to N
write a program/what is the square root of a N/what is pi/solve the equation/what is the population of P
what is the longest N/what is the largest N/what is the highest N/what is the A N/which N is A
when is easter/when does the N open/when is my birthday/what is on television/what movies are playing
add N to my list/put N on the shopping list/remind me to V/what is on my calendar/do i have a meeting
wake up/stop/go away/be quiet/V/V the N/louder/say it again/repeat that/what did you say
who is N/who was N/who are the N/why/how/when/where/who/what/which/why not/how come/what for/really
what is the difference between N and N/what rhymes with N/what is the plural of N/count to N
what is the opposite of A/name three N/name a N/give me a N/list all N/guess what/flip a coin
roll a dice/pick a number/are you A/do you V/can a N V/will the N V/did the N V/would you V
let us V/let's V the N/i like the N/i have a A N/it is A/that is a A N/there is a N in the N
what time does the N leave/how many N are there/how many N are in the N/what year was the N built
when did P become A/what is P famous for/is P A/what is the currency of P/how big is P""".replace(
    "\n", "/").split("/")
UNKNOWN_HELD = """who discovered the N/how do i get to P/how much is a N/can you recommend a N/why did the N V
what is the height of the N/turn down the N/who lives in P/when will the N V/is it safe to V
what is the recipe for N/tell me about P/tell me about the N/start the N/where can i buy a N""".replace(
    "\n", "/").split("/")
SORRY = "Sorry, I do not know that."

# Nouns whose first sense in WordNet has a definition short enough to learn.
DEFINED = """actor adult aircraft artist athlete bag barrier basket bedroom bench boat boy broom brother bullet
cannon cap car carpenter chapel child chin cigar classroom clock coast computer conductor continent
cook corridor couch cousin crop cup customer dancer daughter detective diagram doctor drawer driver
driveway drum ear editor electron employee eye farmer fence fisherman flower gate giant girl glove
guard guest guitar hall highway hill hospital hunter husband jacket jeep kid king kitchen lamp lane
lawyer leader leg library lunch magician mayor messenger monument mountain muscle nephew novelist
painter palace parent patient pebble pencil pianist pillow pine pipe platform poem policeman pond
prisoner robber robot rope sailor school scientist sculpture ship shirt shower skull sofa soldier
statue stove student submarine suitcase surgeon teacher telescope toe tool tower tractor truck
umbrella uncle vehicle victim village visitor voter warehouse watch weapon wife""".split()
