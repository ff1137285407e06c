"""Two models, and which of them is better for which alpha."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

import recoup

example = recoup.load_example()
models = {"boosting": "score_boosting", "logistic": "score_logistic"}
scores = {name: example.scores[column] for name, column in models.items()}

comparison = recoup.compare(example.s, scores, alpha=(0.2, 0.35), metric="accuracy", threshold="f1")
print(comparison)
print(comparison.difference("boosting", "logistic", "accuracy"))
equal = recoup.compare(example.s, scores, alpha=(0.2, 0.35), metric="accuracy")
print(f"At {equal.at}: {equal.difference('boosting', 'logistic')}")
for win in comparison.wins:
    if win.metric == "accuracy":
        print(f"{win.model} is more accurate for alpha {win.alpha_low:.2f} to {win.alpha_high:.2f}")

for name, evaluation in comparison.evaluations.items():
    right = (scores[name] >= evaluation.threshold) == (example.y_true == 1)
    found = evaluation["accuracy"]
    print(f"{name}: naive {found.pu:.2f}, recovered {found.recovered:.2f}, true {right.mean():.2f}")

figure, ax = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
comparison.plot(ax)
figure.savefig("compare_models.png", dpi=90)
