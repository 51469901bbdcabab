"""
Has the language model behind an endpoint changed?
==================================================

The same prompts go to two endpoints (or to one, last week and today), several times each. Answers are compared
*within* each prompt: ``strata=`` is the prompt. Here both endpoints are small models of which word follows which, and
the second one answers at a lower temperature.
"""

from collections import Counter, defaultdict
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import tellapart as ta

TEXT = """
the river runs to the sea and the sea is never full . the rain falls on the hill and the hill feeds the river .
a good answer is short and a short answer is clear . a clear day is a good day to walk to the sea .
we walk to the hill when the day is clear and we stay at home when the rain falls .
the answer is clear when the question is short . we never ask the sea and the sea is never full of questions .
a question is good when we stay to hear the answer . the hill is never full and we walk on when the rain falls .
"""
follows: defaultdict[str, Counter[str]] = defaultdict(Counter)
for word, after in pairwise(TEXT.split()):
    follows[word][after] += 1


def endpoint(prompt, temperature):
    """Eight words that follow the prompt; put a call of your endpoint here."""
    words = [prompt]
    for _ in range(8):
        choices, counts = zip(*follows[words[-1]].items(), strict=True)
        weights = np.array(counts) ** (1 / temperature)
        words.append(str(rng.choice(choices, p=weights / weights.sum())))
    return " ".join(words[1:])


rng = np.random.default_rng(0)
prompts = ["the", "a", "we", "when", "and", "is"]
asked = [prompt for prompt in prompts for _ in range(30)]
last_week = [endpoint(prompt, temperature=1.0) for prompt in asked]
unchanged = [endpoint(prompt, temperature=1.0) for prompt in asked]
today = [endpoint(prompt, temperature=0.4) for prompt in asked]
print("the:", last_week[0], "|", today[0])

# %%
# One test of all prompts, which is what decides.

words = ta.features.hashing_ngrams((1, 2), unit="word")
audit = {"features": words, "strata": asked + asked, "rng": 0}
print("unchanged:", ta.two_sample_test(last_week, unchanged, **audit).pvalue)
print("today:    ", ta.two_sample_test(last_week, today, **audit).pvalue)

# %%
# Then each prompt by itself, to see which answers changed. Six tests are six chances to be wrong, which Holm's method
# corrects for. Few answers say little: some prompts alone are not enough, and together they are.

pvalues = []
for prompt in prompts:
    rows = [k for k, one in enumerate(asked) if one == prompt]
    old, new = ([answers[k] for k in rows] for answers in (last_week, today))
    pvalues.append(ta.two_sample_test(old, new, features=words, rng=0).pvalue)
order = np.argsort(pvalues)
adjusted = np.empty(len(prompts))
adjusted[order] = np.minimum(1, np.maximum.accumulate(np.sort(pvalues) * np.arange(len(prompts), 0, -1)))

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(adjusted, prompts, "o")
ax.axvline(0.05, color="black", linestyle="--", linewidth=1)
ax.set_xscale("log")
ax.set_xlabel("p-value of each prompt, adjusted")
ax.set_ylabel("prompt")
plt.show()
