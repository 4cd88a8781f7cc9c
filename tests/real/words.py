"""Counts word errors as in tests of recognisers: the fewest words to insert, delete or replace."""
import re
import unicodedata

CHINESE = re.compile(r"([\u3400-\u9fff])")


def words(text):
    """Returns a text's words in lower case without punctuation. Each Chinese character is a word."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = "".join(c if unicodedata.category(c)[0] in "LNM" or c == "'" else " " for c in text)
    return CHINESE.sub(r" \1 ", text).split()


def errors(text, wanted):
    """Returns the number of wrong words in `text`, and the number of words in `wanted`."""
    got, want = words(text), words(wanted)
    row = list(range(len(want) + 1))
    for i, word in enumerate(got, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(want, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (word != other))
    return row[-1], len(want)
