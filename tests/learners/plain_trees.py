"""Extra trees on labeled and unlabeled rows, written to be read: the slow twin of the kernel."""

import math

import numpy as np

MASK = 2**64 - 1


class SplitMix:
    """Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014."""

    def __init__(self, seed):
        self.state = int(seed)

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        return (z >> 11) / 2**53


def plain_risk(positive, total, *, risk, loss):
    """Return the least risk of a node with masses W_p and W_p + W_n."""
    negative = total - positive
    if abs(negative) < 1e-12:
        negative = 0.0
    if total == 0:
        return 0.0 if risk == "nnpu" else -math.inf
    if risk == "nnpu":
        negative = max(negative, 0.0)
    if positive == 0 or negative == 0:
        return 0.0
    if loss == "quadratic":
        return 4 * positive * negative / total
    if negative < 0:
        return -math.inf
    return -(positive * math.log(positive / total) + negative * math.log(negative / total))


class PlainTree:
    """One tree, with its nodes as (feature, threshold, right, share, vote), parents first."""

    def __init__(
        self,
        X,
        s,
        seed,
        *,
        pi,
        scheme="single-sample",
        risk="nnpu",
        loss="quadratic",
        max_features,
        max_candidates=1,
        max_depth=math.inf,
        min_samples_leaf=1,
    ):
        self.X, self.labeled = X, np.asarray(s) == 1
        self.population = np.ones(len(X), bool) if scheme == "single-sample" else ~self.labeled
        self.weight, self.unit = pi / self.labeled.sum(), 1 / self.population.sum()
        self.kind = {"risk": risk, "loss": loss}
        self.max_features, self.max_candidates = max_features, max_candidates
        self.max_depth, self.min_samples_leaf = max_depth, min_samples_leaf
        self.random = SplitMix(seed)
        self.order = list(range(X.shape[1]))
        self.nodes, self.reductions = [], np.zeros(X.shape[1])
        self.grow(np.arange(len(X)), depth=0, n_constant=0)

    def masses(self, rows):
        positive = self.weight * np.count_nonzero(self.labeled[rows])
        return positive, self.unit * np.count_nonzero(self.population[rows])

    def risk_of(self, rows):
        return plain_risk(*self.masses(rows), **self.kind)

    def grow(self, rows, depth, n_constant):
        place = len(self.nodes)
        self.nodes.append(None)
        split = None
        if (
            not self.is_settled(rows)
            and depth < self.max_depth
            and len(rows) > self.min_samples_leaf
        ):
            split, n_constant = self.best_split(rows, n_constant)
        if split is None:
            self.nodes[place] = (-1, 0.0, 0, *self.leaf(rows))
            return
        score, feature, cut = split
        if score > -math.inf:
            self.reductions[feature] += self.risk_of(rows) - score
        goes_left = self.X[rows, feature] <= cut
        self.grow(rows[goes_left], depth + 1, n_constant)
        self.nodes[place] = (feature, cut, len(self.nodes), 0.0, 0)
        self.grow(rows[~goes_left], depth + 1, n_constant)

    def is_settled(self, rows):
        risk = self.risk_of(rows)
        if self.kind["risk"] == "upu" and self.labeled[rows].any():
            return risk == -math.inf
        return risk <= 0

    def best_split(self, rows, n_constant):
        """Draw features, the constant ones to the front and the others to the back."""
        best, n_drawn, order = None, 0, self.order
        while n_drawn < self.max_features and n_constant + n_drawn < len(order):
            n_open = len(order) - n_drawn - n_constant
            drawn = n_constant + int(self.random.uniform() * n_open)
            feature = order[drawn]
            values = self.X[rows, feature].astype(float)
            lowest, highest = values.min(), values.max()
            if lowest == highest:
                order[drawn], order[n_constant] = order[n_constant], feature
                n_constant += 1
                continue
            n_drawn += 1
            order[drawn], order[-n_drawn] = order[-n_drawn], feature
            low = 0.6 * lowest + 0.4 * values[values > lowest].min()
            second_highest = values[values < highest].max()
            high = 0.4 * second_highest + 0.6 * highest
            for _ in range(self.max_candidates):
                along = self.random.uniform()
                cut = (1 - along) * low + along * high
                cut = second_highest if cut >= highest else max(cut, lowest)
                goes_left = values <= cut
                score = self.risk_of(rows[goes_left]) + self.risk_of(rows[~goes_left])
                if best is None or score < best[0]:
                    best = score, feature, cut
        return best, n_constant

    def leaf(self, rows):
        positive, total = self.masses(rows)
        if total == 0:
            return 1.0, 1
        if abs(2 * positive - total) < 1e-12:
            return min(1.0, positive / total), int(self.random.uniform() < 0.5)
        return min(1.0, positive / total), int(2 * positive > total)
