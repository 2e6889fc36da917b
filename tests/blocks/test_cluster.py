"""Blocks with the workers of a real Dask cluster of processes: the same numbers, and what happens when one dies."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import tensorfill as tfl
import tensorfill.blocks.opening as opening
from tensorfill.blocks import cluster
from tensorfill.blocks.cluster import ClusterError, ClusterPartitions
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.memory import in_memory
from tensorfill.data.memory import limit_memory
from tensorfill.interelement.quadratic import penalties
from tensorfill.partitioned import Partitioned
from tensorfill.solvers.newton import Newton

distributed = pytest.importorskip("distributed", reason="a cluster needs distributed: pip install 'tensorfill[dask]'")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are killed on purpose

DIMS = ["user", "item", "week"]
SETTINGS = dict(dims=DIMS, value="n", rank=2, ridge=1.0, smooth={}, max_iter=3)


@pytest.fixture
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster, timeout="60s") as found,
    ):
        yield found


@pytest.fixture
def frame():
    import pandas as pd

    rng = np.random.default_rng(5)
    where = np.unique(np.stack([rng.integers(n, size=2500) for n in (60, 30, 6)], axis=1), axis=0)
    rng.shuffle(where)
    A, B, C = (rng.uniform(0.5, 2, (n, 2)) for n in (60, 30, 6))
    x = (A[where[:, 0]] * B[where[:, 1]] * C[where[:, 2]]).sum(axis=1)
    table = pd.DataFrame(where, columns=DIMS)
    table["user"] = [f"u{i}" for i in where[:, 0]]
    return table.assign(n=rng.poisson(x).astype(float))


@pytest.fixture
def whole(frame, tmp_path, many):
    """(a file, what a run on it gives without a cluster)."""
    file = str(tmp_path / "a.parquet")
    frame.to_parquet(file)
    return file, tfl.complete(file, **SETTINGS)


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(opening.open_data, "__kwdefaults__", {**opening.open_data.__kwdefaults__, "large": 100})


def workers_and_memory_agree(frame):
    import dask.dataframe as dd

    table = dd.from_pandas(frame, npartitions=3, sort=False)
    there = opening.open_data(table, dims=DIMS, value="n", large=100, draw=Draw(held=0.1))
    assert isinstance(there, ClusterPartitions)
    assert len(there.edges(0)) > 3
    codes = [{label: k for k, label in enumerate(there.sample.labels[d])} for d in DIMS]
    where = np.stack([frame[d].map(code) for d, code in zip(DIMS, codes, strict=True)], axis=1)
    here = in_memory(tfl.Observations.from_coo(where, frame.n, there.shape, dims=DIMS), Draw(held=0.1))
    assert there.digest == here.digest
    rng = np.random.default_rng(0)
    start = [rng.uniform(0.5, 1.5, (n, 3)) for n in there.shape]
    settings = dict(prior="poisson", dtype=np.float64, interelement=penalties(3, {2: 1.0}, 0.1), quiet=True)
    one, two = (Partitioned.on_blocks(parts, 3, **settings) for parts in (here, there))
    (value, grads), (other, others) = (p.value_and_grad(start) for p in (one, two))
    assert other == pytest.approx(value, rel=1e-12)
    for G, H in zip(grads, others, strict=True):
        np.testing.assert_allclose(H, G, rtol=1e-10, atol=1e-10 * np.abs(G).max())
    states = []
    for problem in (one, two):
        state = Newton().init(problem, start, rng)
        states.append(Newton().step(problem, state, rng))
    assert states[1].value == pytest.approx(states[0].value, rel=1e-10)
    for A, B in zip(states[1].factors, states[0].factors, strict=True):
        np.testing.assert_allclose(A, B, rtol=1e-8, atol=1e-10)


def blocks_lie_evenly_with_the_workers(frame):
    import dask.dataframe as dd

    table = dd.from_pandas(frame, npartitions=3, sort=False)
    there = opening.open_data(table, dims=DIMS, value="n", large=100, draw=Draw(held=0.1))
    assert there.direct
    for mode in range(3):
        there.gather(rows_of_block, None, mode)
        blocks, homes = there.send_blocks(mode)
        assert len(blocks) == 4
        assert homes == sorted(homes)
        assert homes.count(homes[0]) == 2
    through_the_scheduler = replace(there, direct=False)
    rows = np.arange(float(there.shape[0]))[:, None]
    assert through_the_scheduler.gather(rows_of_block, np.zeros(10**5), 0, there.own(0, rows))[0] == there.shape[0]


def rows_of_block(block, shared, own):
    return len(block.starts) - 1, None


def a_worker_killed_in_mid_run_is_survived(client, frame, whole):
    import dask.dataframe as dd

    killed = []

    def kill(state, history):
        if len(history) == 2 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    table = dd.from_pandas(frame, npartitions=3, sort=False)
    done = tfl.complete(table, **SETTINGS, callback=kill)
    assert killed
    assert done.iterations == 3
    np.testing.assert_allclose(done.factors[0], whole.factors[0], rtol=1e-8, atol=1e-10)


def dask_arrays_and_files_go_to_the_workers(frame, tmp_path):
    import dask.array as da

    rng = np.random.default_rng(1)
    T = np.where(rng.random((20, 15)) < 0.6, rng.normal(size=(20, 15)), np.nan)
    array = da.from_array(T, chunks=(7, 15))
    with limit_memory("1kB"):
        parts = opening.open_data(array, draw=Draw(held=0.0))
    assert isinstance(parts, ClusterPartitions)
    assert parts.digest == in_memory(tfl.Observations.from_dense(T), Draw(held=0.0)).digest
    for k in range(2):
        frame[k::2].to_parquet(tmp_path / f"half{k}.parquet")
    files = opening.open_data(str(tmp_path / "half*.parquet"), dims=DIMS, value="n")
    assert isinstance(files, ClusterPartitions)
    assert files.sample.nnz == len(frame)


def a_dead_scheduler_leaves_a_checkpoint(client, file, tmp_path, whole):
    place = tmp_path / "run.ckpt"

    def end(state, history):
        if len(history) == 2:
            client.cluster.close(timeout=5)

    with pytest.raises(ClusterError, match="go on from the checkpoint"):
        tfl.complete(file, **SETTINGS, checkpoint=place, callback=end)
    client.close(timeout=1)
    rest = tfl.complete(file, **SETTINGS, checkpoint=place, resume=True)  # without a cluster
    assert rest.iterations == 3
    np.testing.assert_allclose(rest.factors[0], whole.factors[0], rtol=1e-8, atol=1e-10)


def test_a_scheduler_that_ends_while_a_table_is_read_is_a_sentence(client, frame, many, monkeypatch):
    import dask.dataframe as dd

    real = opening.from_arrow

    def end(*given):
        client.cluster.close(timeout=5)
        return real(*given)

    monkeypatch.setattr(opening, "from_arrow", end)
    table = dd.from_pandas(frame, npartitions=3, sort=False)
    with pytest.raises(ClusterError, match="the Dask cluster no longer answers"):
        tfl.complete(table, **SETTINGS)


def test_a_cluster_of_processes(whole, client, frame, tmp_path, many):
    """One test for all, since starting a cluster takes longer than what it does here."""
    file, done = whole
    workers_and_memory_agree(frame)
    blocks_lie_evenly_with_the_workers(frame)
    dask_arrays_and_files_go_to_the_workers(frame, tmp_path)
    a_worker_killed_in_mid_run_is_survived(client, frame, done)
    a_dead_scheduler_leaves_a_checkpoint(client, file, tmp_path, done)


def test_without_a_client_dask_tables_are_read_here(frame, many):
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(frame, npartitions=3, sort=False)
    parts = opening.open_data(table, dims=DIMS, value="n")
    assert not isinstance(parts, ClusterPartitions)
    assert parts.sample.nnz == len(frame)
    parts.close()


def test_without_a_worker_it_is_a_sentence(whole, monkeypatch):
    """Dask waits for ever for workers that left, as they do when they cannot read what they are sent."""
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local,
        distributed.Client(local),
        pytest.raises(ClusterError, match="no worker is left"),
    ):
        tfl.complete(whole[0], **SETTINGS)
