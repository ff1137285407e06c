"""How many positives are hidden? Two methods, and the picture that each one reads."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import recoup
from recoup.priors import estimate

example = recoup.load_example()  # 4,601 e-mails; 521 of them are flagged as spam
s, scores = example.s, example.scores["score_boosting"]

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for method, ax in zip(("auto", "bbe"), axes, strict=True):
    found = estimate(s, scores, method=method)
    found.plot(ax)
    low, high = found.interval
    print(
        f"{method:4}: {found.hidden.value:,.0f} spam mails without a flag, alpha {found.alpha:.2f}"
    )
    print(f"      {low:.2f} to {high:.2f}; {len(found.warnings)} warnings")
print(f"truth: {example.y_true[s == 0].sum():,}, alpha {example.alpha:.2f}")
figure.savefig("hidden_spam.png", dpi=75)
