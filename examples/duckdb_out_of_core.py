"""Three million scored rows in Parquet files, evaluated inside DuckDB with little memory."""

import duckdb

import recoup

# Twelve files, as a scoring job would leave them. hash() makes the same rows every time.
duckdb.sql("SET threads = 1")
for part in range(12):
    duckdb.sql(
        f"""
        COPY (
            WITH drawn AS (
                SELECT i, (hash(i) % 1000000) / 1e6 AS u, (hash(i + 7e8) % 1000000) / 1e6 AS v
                FROM range({part} * 250000, ({part} + 1) * 250000) AS rows(i)
            )
            SELECT
                CASE WHEN i % 10 = 0 THEN sqrt(u) ELSE 1 - sqrt(1 - u) END AS score,
                CAST(i % 10 = 0 AND v < 0.3 AS INTEGER) AS flagged
            FROM drawn
        ) TO 'part-{part:02}.parquet'
        """
    )

columns = {"label": "flagged", "score": "score", "decimals": 4}
table = recoup.ScoreTable.from_file("part-*.parquet", memory_limit="200MB", **columns)
print(table)
print(recoup.evaluate(table, alpha=0.0722, threshold=0.5)["roc_auc"])
print(f"AUC of the two densities that were drawn from: {5 / 6:.4f}")

# Parts add up: count each file where it lies, and add the counts.
parts = [recoup.ScoreTable.from_file(f"part-{n:02}.parquet", **columns) for n in range(12)]
total = sum(parts[1:], start=parts[0])
print(f"The same counts: {bool((total.unlabeled == table.unlabeled).all())}")
