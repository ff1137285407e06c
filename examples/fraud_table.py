"""Card payments in a file: how many alerts are fraud, and where to set the threshold.

Only fraud that a customer reported carries a flag. An audit found that between 0.8% and 1.2% of the
payments without a flag are fraud.
"""

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import recoup

# A table as a bank would have it: a score for each payment, a flag on reported fraud.
rng = np.random.default_rng(0)
fraud = rng.random(100_000) < 0.02
reported = fraud & (rng.random(100_000) < 0.5)
score = 1 / (1 + np.exp(-rng.normal(np.where(fraud, 0.5, -2.5))))
payments = pa.table({"score": score, "reported": reported.astype(int)})
parquet.write_table(payments, "payments.parquet")

# From here on only the file is read; its rows stay in DuckDB.
table = recoup.ScoreTable.from_file("payments.parquet", label="reported", score="score")
print(table)
evaluation = recoup.evaluate(table, alpha=(0.008, 0.012), threshold=0.5)
precision = evaluation["precision"]
print(f"Precision if no payment without a flag were fraud: {precision.pu:.2f}")
print(f"Precision: {precision.recovered:.2f}, {precision.lower:.2f} to {precision.upper:.2f}")
print(f"Truth:     {fraud[score >= 0.5].mean():.2f}")

# An alert costs 5 to look at, a missed fraud 200.
best = evaluation.best("expected_cost", fp_cost=5.0, fn_cost=200.0)
print(f"Cheapest threshold: {best.threshold:.3f} with {best.queue:,.0f} alerts")
print(f"Fraud found there:  {best['recall'].recovered:.2f}")
print(f"Truth:              {(score[fraud] >= best.threshold).mean():.2f}")

path = recoup.Report(evaluation, "Card payments").write("payments.html")
print(f"Report: {path}")
