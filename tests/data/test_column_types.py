"""Ordinary tables: every column comes back in its own dtype, known cells bit for bit."""

import numpy as np
import pytest

import tensorfill as tfl

pd = pytest.importorskip("pandas")


def people(rows=60, seed=0):
    """A table with a column of every dtype that pandas has in daily use; gaps in the numbers."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    table = pd.DataFrame(
        {
            "key": np.arange(rows, dtype=np.int64) + 9007199254740993,  # 2^53 + 1: no float64 holds it
            "smoker": z > 0,
            "height": (170 + 10 * z).astype(np.float32),
            "visits": pd.array(rng.poisson(np.exp(z)), dtype="Int64"),
            "income": np.exp(10 + z + 0.3 * rng.normal(size=rows)),
            "score": pd.array(z + rng.normal(size=rows), dtype="Float32"),
            "city": pd.Categorical(np.where(z > 0.5, "Rome", np.where(z < -0.5, "Oslo", "Bern"))),
            "note": [f"the {k}th person" for k in range(rows)],
            "born": pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 9000, rows), "D"),
            "waited": pd.to_timedelta(rng.integers(1, 300, rows), "min"),
            "level": pd.array(np.where(z > 0, 3, 1), dtype=object),
        },
        index=pd.Index([f"p{k}" for k in range(rows)], name="person"),
    )
    for column in ("height", "visits", "income", "score", "level"):
        table.loc[table.index[rng.random(rows) < 0.2], column] = None
    return table


def test_every_column_comes_back_in_its_own_dtype():
    table = people()
    out = tfl.complete(table, effort="quick").completed
    assert list(out.columns) == list(table.columns)
    assert out.index.equals(table.index)
    assert out.index.name == "person"
    assert dict(out.dtypes) == dict(table.dtypes)
    for name in table:
        known = table[name].notna()
        assert (out[name][known] == table[name][known]).all(), name
    assert out["height"].notna().all()
    assert out["visits"].notna().all()


def test_a_mask_keeps_the_dtype_too():
    table = people()[["smoker", "income"]].assign(count=np.arange(60, dtype=np.int8) // 4).dropna()
    mask = np.random.default_rng(1).random(table.shape) < 0.8
    out = tfl.complete(table, mask=mask, effort="quick").completed
    assert dict(out.dtypes) == dict(table.dtypes)
    assert (out.to_numpy(object) == table.to_numpy(object))[mask].all()
