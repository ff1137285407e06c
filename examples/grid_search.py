"""Tune a classifier when only some positives are labeled: a grid search by a recovered metric."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from recoup.metrics import make_scorer
from recoup.scores import PUStratifiedKFold

X, digit = load_digits(return_X_y=True)
even = (digit % 2 == 0).astype(int)
marked = even * (np.random.default_rng(0).random(len(X)) < 0.3)  # three of ten even digits
rows, new_rows, s, _, y_true, new_y = train_test_split(
    X, marked, even, test_size=0.3, random_state=0
)
alpha = y_true[s == 0].mean()  # in practice from elsewhere, or estimated

model = make_pipeline(StandardScaler(), SVC())
weights = {"svc__class_weight": [{1: weight} for weight in (1, 2, 4, 8, 16)]}
folds = PUStratifiedKFold(5, random_state=0)
for name, scorer in {
    "accuracy": "accuracy",
    "recovered accuracy": make_scorer("accuracy", alpha=alpha),
}.items():
    search = GridSearchCV(model, weights, scoring=scorer, cv=folds).fit(rows, s)
    weight = search.best_params_["svc__class_weight"][1]
    truth = (search.predict(new_rows) == new_y).mean()
    print(f"By {name}: weight {weight}, said to be {search.best_score_:.2f}, true {truth:.2f}")
