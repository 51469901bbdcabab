"""The same test with the same bits, wherever the rows are and whoever computes: threads, files, Dask workers."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.cli import main
from tellapart.data import open_lazy, reindex
from tellapart.engine import cluster as clusters
from tellapart.engine import costs, tiles
from tellapart.engine.executors import tree
from tellapart.kernels import MLP, Deep, Gaussian, Laplacian
from tellapart.omnibus import bins
from tellapart.twosample import mmd_test_cost

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NULLS = ("permutation", "binned", "paired", "wild", "gamma")


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(531, 5)).astype("f4"), rng.normal(size=(531, 5)).astype("f4") * 1.05


@pytest.fixture(scope="module")
def files(samples, tmp_path_factory):
    """The same samples in every form that is read lazily."""
    import dask.array
    import pandas as pd
    import zarr

    folder = tmp_path_factory.mktemp("files")
    for name, values in zip("xy", samples, strict=True):
        np.save(folder / f"{name}.npy", values)
        np.save(folder / f"{name}-columns.npy", np.asfortranarray(values))
        frame = pd.DataFrame(values, columns=list("abcde"))
        frame = frame if name == "x" else frame[list("edcba")]
        frame.to_parquet(folder / f"{name}.parquet", row_group_size=100)
        (folder / name).mkdir()
        frame[:200].to_parquet(folder / name / "part-0.parquet")
        frame[200:].to_parquet(folder / name / "part-1.parquet")
        zarr.save(str(folder / f"{name}.zarr"), values)
    return {
        "npy": [folder / "x.npy", str(folder / "y.npy")],
        "columns first": [folder / "x-columns.npy", folder / "y-columns.npy"],
        "memory map": [np.load(folder / f"{name}.npy", mmap_mode="r") for name in "xy"],
        "parquet": [folder / "x.parquet", folder / "y.parquet"],
        "parts": [folder / "x", folder / "y"],
        "zarr": [folder / "x.zarr", folder / "y.zarr"],
        "dask": [dask.array.from_array(values, chunks=(200, 2)) for values in samples],
        "file and array": [folder / "x.npy", samples[1]],
    }


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def threads(monkeypatch):
    """Sets torch's number of threads, which all have something to do, and puts it back."""
    monkeypatch.setattr(tiles, "SECONDS_PER_THREAD", 1e-9)
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def small_tiles(monkeypatch):
    """So that a few hundred points make many strips."""
    monkeypatch.setattr(tiles, "TILE_OF_FEW", (64, 64))
    monkeypatch.setattr(tiles, "TILE", (64, 64))


def never_resident(monkeypatch):
    """As if features never fitted into memory: every block is read and made again."""
    allow = tiles.Tiling.allow

    def tight(self, most):
        allow(self, most)
        self.prepared.resident, self.prepared.room, self.panel = False, 7, 4

    monkeypatch.setattr(tiles.Tiling, "allow", tight)


def same(a, b):
    return (
        a.statistic == b.statistic and a.pvalue == b.pvalue and np.array_equal(a.null_distribution, b.null_distribution)
    )


# --- one process ------------------------------------------------------------------------------------------------


def test_the_tree_is_that_of_its_branches():
    """Panels are whole branches: computed alone and joined, they give what all strips give."""
    join = "({}{})".format
    for count in range(1, 40):
        leaves = [f"{k}." for k in range(count)]
        whole = tree(join, leaves)
        for size in (1, 2, 4, 8, 16):
            panels = [tree(join, leaves[start : start + size]) for start in range(0, count, size)]
            assert tree(join, panels) == whole


@pytest.mark.parametrize("null", NULLS)
def test_threads_files_and_memory_do_not_change_a_bit(null, samples, files, threads, small_tiles, monkeypatch):
    threads(1)
    base = ta.mmd_test(*samples, null=null, permutations=99, rng=0)
    threads(2)
    assert same(base, ta.mmd_test(*samples, null=null, permutations=99, rng=0))
    assert same(base, ta.mmd_test(*files["npy"], null=null, permutations=99, rng=0))
    never_resident(monkeypatch)
    assert same(base, ta.mmd_test(*files["npy"], null=null, permutations=99, rng=0))
    assert same(base, ta.mmd_test(*samples, null=null, permutations=99, rng=0))


@pytest.mark.parametrize("form", ["columns first", "memory map", "parquet", "parts", "zarr", "dask", "file and array"])
def test_every_form_of_file_is_the_same_sample(form, samples, files):
    base = ta.mmd_test(*samples, permutations=99, rng=0)
    assert same(base, ta.mmd_test(*files[form], permutations=99, standardise=False, keep_columns=True, rng=0))


@pytest.mark.parametrize(
    "kernel",
    [Laplacian(2.0), Gaussian(1000.0), Deep(MLP([5, 30, 3], rng=0), Gaussian(1.0), original=Gaussian(2.0))],
    ids=["laplacian", "anchored", "deep"],
)
def test_features_have_the_same_bits_one_block_at_a_time(kernel, samples, files, threads, monkeypatch):
    threads(1)
    base = ta.mmd_test(*samples, kernel, permutations=99, rng=0)
    threads(2)
    never_resident(monkeypatch)
    assert same(base, ta.mmd_test(*files["npy"], kernel, permutations=99, rng=0))


def test_a_far_point_refines_the_plan_wherever_it_is(samples, tmp_path, monkeypatch):
    X = samples[0].copy()
    X[377] = 3e4
    np.save(tmp_path / "x.npy", X)
    base = ta.mmd_test(X, samples[1], Gaussian(1.0), permutations=99, rng=0)
    never_resident(monkeypatch)
    assert same(base, ta.mmd_test(tmp_path / "x.npy", samples[1], Gaussian(1.0), permutations=99, rng=0))


def test_threads_give_way_before_tiles_do(samples, threads):
    """With room for one thread only, two give the same bits: one of them does not work."""
    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(ta.mmd_test(*samples, permutations=999, rng=0, max_memory="16MB"))
    assert same(found[0], found[1])
    assert same(found[0], found[2])


@pytest.mark.parametrize("kernel", ["witness", "ard"])
def test_learned_tests_take_files(kernel, samples, files):
    options = {"kernel": kernel, "permutations": 99, "rng": 0}
    if kernel == "ard":
        options |= {"learning": {"steps": 1}, "train_size": 0.2}
    base, lazy = (ta.learned_test(*pair, **options) for pair in (samples, files["npy"]))
    assert same(base, lazy)


@pytest.mark.parametrize("form", ["parts", "zarr", "dask"])
def test_compare_opens_them_too(form, samples, files):
    for name, data, values in zip("XY", files[form], samples, strict=True):
        source = ta.read(data, name, max_rows=100)
        assert source.numbers.max() > 400
        found = source.content.to_matrix() if source.kind == "table" else source.content.values
        if name == "X":
            assert np.array_equal(found, values[source.numbers])
    assert len(ta.read(files[form][0])) == len(samples[0])


def test_labels_of_rows_must_fit(samples):
    with pytest.raises(MemoryError, match=r"permutations of 1,062 rows take .* Use null='binned'"):
        ta.mmd_test(*samples, permutations=9999, max_memory="20MB")


def test_gathered_rows_are_those_of_the_tensors(samples, files):
    order = np.random.default_rng(1).permutation(1062)[:700]
    pooled = np.concatenate(samples)[order]
    lazy = reindex([open_lazy(path) for path in files["npy"]], order)
    assert np.array_equal(lazy[:], pooled)
    assert np.array_equal(lazy[10:500:7], pooled[10:500:7])
    assert np.array_equal(pickle.loads(pickle.dumps(lazy))[torch.tensor([3, 1, 3])], pooled[[3, 1, 3]])


def test_a_slice_of_a_memory_map_is_read_from_its_place(samples, files):
    part = files["memory map"][0][100:300]
    assert np.array_equal(open_lazy(part)[:], samples[0][100:300])


# Memory of a process's own, without what the C library keeps for later, which is 5 to 25 MB from run to run: pages of
# libraries come and go as the system likes, and both hide what a call takes.
KEEP_NOTHING = {"MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": "65536"}
PEAK = """
import sys, threading, torch, tellapart as ta

def now():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

def watch():
    while not done.wait(0.001):
        seen.append(now())

torch.set_num_threads(1)
kernel = ta.kernels.Gaussian(100.0)
ta.mmd_test(torch.randn(1000, 8), torch.randn(1000, 8), kernel, "binned", 99, rng=0)
seen, done = [now()], threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
print(ta.mmd_test(sys.argv[1], sys.argv[2], kernel, "binned", 99, rng=0, max_memory=sys.argv[3]).pvalue)
done.set()
watcher.join()
print(max(seen) - seen[0])
"""


@pytest.mark.serial
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read there")
def test_memory_is_bounded_by_max_memory_and_not_by_the_data(tmp_path):
    """40 MB of rows in 10 MB."""
    rng = np.random.default_rng(0)
    for name in "xy":
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((2000, 2500), dtype="f4"))
    arguments = [str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), "10MB"]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments],
        env=os.environ | KEEP_NOTHING,
        capture_output=True,
        text=True,
        check=True,
    )
    pvalue, peak = map(float, done.stdout.split())
    assert 0 < pvalue <= 1
    assert peak < 10e6


# --- what can be wrong with files ---------------------------------------------------------------------------------


def test_values_are_checked_as_they_are_read(samples, tmp_path):
    X = samples[0].copy()
    X[500, 3] = np.nan
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match=r"X .*x\.npy\) has NaN or infinite values, one at row 500, column 3"):
        ta.mmd_test(tmp_path / "x.npy", samples[1], rng=0)


def test_errors_of_files(samples, tmp_path):
    import pandas as pd

    Y = samples[1]
    with pytest.raises(FileNotFoundError, match=r"X .* does not exist"):
        ta.mmd_test(tmp_path / "none.npy", Y)
    np.save(tmp_path / "text.npy", np.array(["a", "b"]))
    with pytest.raises(TypeError, match="must hold numbers"):
        ta.mmd_test(tmp_path / "text.npy", Y)
    np.save(tmp_path / "wide.npy", np.zeros((10, 6)))
    with pytest.raises(ValueError, match=r"rows of the same shape, but X has 6 and Y has 5"):
        ta.mmd_test(tmp_path / "wide.npy", Y)
    np.save(tmp_path / "one.npy", np.zeros((1, 5)))
    with pytest.raises(ValueError, match="X needs at least 2 rows, but has 1"):
        ta.mmd_test(tmp_path / "one.npy", Y)
    pd.DataFrame({"a": ["x", "y"]}).to_parquet(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match="is a table with columns that are no numbers, and Y an array"):
        ta.mmd_test(tmp_path / "text.parquet", Y)


def test_a_file_that_changes_is_noticed(samples, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, samples[0])
    lazy = open_lazy(path)
    np.save(path, samples[1][:300])
    with pytest.raises(OSError, match="has changed since it was opened"):
        lazy[:10]
    lazy = open_lazy(path)
    assert len(lazy[:10]) == 10
    os.truncate(path, 1000)
    with pytest.raises(OSError, match="has become shorter while it was read"):
        lazy[200:210]


# --- a cluster ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("null", ["permutation", "binned", "gamma"])
def test_two_workers_do_not_change_a_bit(null, samples, files, client):
    base = ta.mmd_test(*samples, null=null, permutations=99, rng=0)
    assert same(base, ta.mmd_test(*samples, null=null, permutations=99, rng=0, cluster=client))
    assert same(base, ta.mmd_test(*files["npy"], null=null, permutations=99, rng=0, cluster=client))


def test_workers_read_chunks_and_run_any_kernel(samples, files, client):
    kernel = Deep(MLP([5, 30, 3], rng=0), Gaussian(1.0), original=Gaussian(2.0))
    base = ta.mmd_test(*samples, kernel, permutations=99, rng=0)
    chunks = files["parts"][0], files["zarr"][1]
    assert same(base, ta.mmd_test(*chunks, kernel, permutations=99, keep_columns=True, rng=0, cluster=client))
    scale = 0.5
    function = ta.mmd_test(*samples, lambda a, b: (a @ b.T) * scale, permutations=99, rng=0)
    assert same(
        function,
        ta.mmd_test(*samples, lambda a, b: (a @ b.T) * scale, permutations=99, rng=0, cluster=client),
    )


def test_compare_and_learned_tests_use_the_cluster(samples, client):
    samples = [sample[:120] for sample in samples]
    calls = []
    reduce = clusters.Cluster.reduce

    def counted(self, job, progress):
        calls.append(job)
        return reduce(self, job, progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters.Cluster, "reduce", counted)
        options = {"permutations": 99, "rng": 0, "cross_fit": True, "stability": 0, "learning": {"steps": 1}}
        base, other = (ta.compare(*samples, "ard", cluster=c, **options) for c in (None, client))
    assert len(calls) == 2
    assert all(same(a.test, b.test) for a, b in zip(base.test.halves, other.test.halves, strict=True))


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Samples that are compared by bins of rows, in memory and in files."""
    import zarr

    monkeypatch.setattr(bins, "MANY_ROWS", 40)
    monkeypatch.setattr(bins, "BINS", 300)
    monkeypatch.setattr(bins, "MIN_BINS", 3)
    samples = [part.astype(np.float32) for part in np.random.default_rng(4).normal(size=(2, 9001, 4))]
    for name, part in zip("xy", samples, strict=True):
        np.save(tmp_path / f"{name}.npy", part)
        zarr.save(str(tmp_path / f"{name}.zarr"), part)
    return {
        "memory": samples,
        "npy": [tmp_path / "x.npy", tmp_path / "y.npy"],
        "zarr": [tmp_path / "x.zarr", tmp_path / "y.zarr"],
        "file and memory": [tmp_path / "x.npy", samples[1]],
    }


def same_test(a, b):
    """Whether two results of the default test have the same bits, whatever the samples are called."""
    numbers = [
        [(part.columns, part.pvalue, part.effect, part.interval) for part in (*result.columns, *result.pairs)]
        for result in (a, b)
    ]
    return numbers[0] == numbers[1] and np.array_equal(a.null_distribution, b.null_distribution)


@pytest.mark.parametrize("name", ["memory", "npy", "zarr", "file and memory"])
def test_bins_on_workers_have_the_same_bits(name, many, client):
    base = ta.two_sample_test(*many["memory"], 49, rng=0)
    assert base.permuted_unit == "bins of rows"
    assert same_test(base, ta.two_sample_test(*many[name], 49, rng=0, cluster=client))


def test_pairs_and_several_samples_in_bins_on_workers(many, client):
    samples = many["memory"]
    base, other = (ta.two_sample_test(*samples, 49, paired=True, rng=0, cluster=c) for c in (None, client))
    assert base.permuted_unit == "bins of pairs"
    assert same_test(base, other)
    three = [*samples, samples[0][:4000] + 0.1]
    base, other = (ta.k_sample_test(three, permutations=49, pairwise=False, rng=0, cluster=c) for c in (None, client))
    assert base.permuted_unit == "bins of rows"
    assert same_test(base, other)


@pytest.mark.parametrize("name", ["memory", "npy"])
def test_bins_when_a_worker_is_killed(name, many):
    base = ta.two_sample_test(*many["memory"], 49, rng=0)
    with started(2) as client:
        before = client.run(os.getpid)
        kill = at_a_quarter(lambda: os.kill(next(iter(before.values())), signal.SIGKILL))
        found = ta.two_sample_test(*many[name], 49, rng=0, cluster=client, progress=kill)
        assert before != client.run(os.getpid)
    assert same_test(base, found)


def test_tasks_get_their_own_rows_and_nothing_that_grows_with_permutations(many, client, monkeypatch):
    sent = []
    reduce = clusters.Cluster.reduce

    def weigh(self, job, progress):
        panels = job.panels(2)
        own = [len(pickle.dumps(job.data_of(panel))) for panel in panels]
        sent.append((job.function.__qualname__.split(".")[0], len(self._pickle(job)), max(own), sum(own)))
        return reduce(self, job, progress)

    monkeypatch.setattr(clusters.Cluster, "reduce", weigh)
    rows, width = 18_002, 4
    found = {}
    for permutations in (19, 199):
        for name, each in (("memory", 4 * width), ("npy", 8)):  # the rows, or their positions
            sent.clear()
            ta.two_sample_test(*many[name], permutations, rng=0, cluster=client)
            (bins_of_rows,) = [sizes for function, *sizes in sent if function == "_sum_bins"]
            found[permutations, name] = bins_of_rows
            _, largest, total = bins_of_rows
            assert total < 1.2 * rows * each
            assert largest < total / 4
    job = found[19, "memory"][0]
    # Neither rows, nor the members of bins, nor labels are in the jobs, whose sizes differ by names and small numbers.
    assert all(abs(size - job) < 4000 for size, *_ in found.values())
    # Labels of all rows may be in other jobs, but never the rows themselves.
    assert all(size < job + 9 * rows for _, size, *_ in sent)


def test_progress_of_workers(samples, client, small_tiles):
    seen = []
    ta.mmd_test(*samples, null="binned", rng=0, cluster=client, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


def test_errors_of_workers_are_errors_here(samples, client, tmp_path):
    path = tmp_path / "x.npy"
    X = samples[0].copy()
    X[5, 0] = np.inf
    np.save(path, X)
    with pytest.raises(ValueError, match="one at row 5, column 0"):
        ta.mmd_test(path, samples[1], Gaussian(1.0), "binned", rng=0, cluster=client)
    np.save(path, samples[0])
    lazy = open_lazy(path)
    lazy[:2]  # it is open here, so that only the workers miss it
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"is not there\. Every process that takes part must find it"):
        ta.mmd_test(lazy, samples[1], Gaussian(1.0), "binned", rng=0, cluster=client)


def test_a_kernel_that_cannot_travel(samples, client):
    lock = __import__("threading").Lock()

    def function(a, b):
        with lock:
            return a @ b.T

    with pytest.raises(TypeError, match="cannot be sent to the workers"):
        ta.mmd_test(*samples, function, rng=0, cluster=client)


def test_what_is_no_cluster(samples, monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 1.0)
    with pytest.raises(TypeError, match="is not a cluster"):
        ta.mmd_test(*samples, cluster=3)
    with pytest.raises(ConnectionError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        ta.mmd_test(*samples, cluster="tcp://127.0.0.1:9")


def test_without_dask(samples, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"cluster= needs distributed: pip install 'tellapart\[dask\]'"):
        ta.mmd_test(*samples, cluster="local")


# --- clusters that fail -------------------------------------------------------------------------------------------


@contextmanager
def started(workers, **options):
    """A cluster that may be broken."""
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def at_a_quarter(action):
    """Progress that does something, once."""
    done = []

    def progress(now, total):
        if now > total / 4 and not done:
            done.append(True)
            action()

    return progress


def test_four_workers_of_which_two_are_killed(samples, files, small_tiles):
    base = ta.mmd_test(*samples, permutations=99, rng=0)
    with started(4) as client:
        victims = list(client.run(os.getpid).values())[:2]
        kill = at_a_quarter(lambda: [os.kill(victim, signal.SIGKILL) for victim in victims])
        found = ta.mmd_test(*files["npy"], permutations=99, rng=0, cluster=client, progress=kill)
    assert same(base, found)


@pytest.mark.full
def test_all_workers_gone(samples, small_tiles, monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 2.0)
    with started(1) as client:
        leave = at_a_quarter(lambda: client.cluster.scale(0))
        with pytest.raises(ConnectionError, match=r"All workers of .* are gone"):
            ta.mmd_test(*samples, rng=0, cluster=client, progress=leave)


@pytest.mark.full
def test_a_worker_out_of_memory(samples):
    import dask

    def greedy(a, b):
        if multiprocessing.parent_process() is not None:
            held = torch.ones(2 * 10**8, dtype=torch.float64)
            time.sleep(20)
            del held
        return a @ b.T

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        started(1, memory_limit="1GB") as client,
        pytest.raises(MemoryError, match="most likely because they ran out of memory"),
    ):
        ta.mmd_test(*samples, greedy, rng=0, cluster=client)


def test_other_versions(samples, client):
    def pretend(version):
        import importlib.metadata as metadata

        true = getattr(metadata, "true_version", metadata.version)
        metadata.true_version = true
        metadata.version = true if version is None else lambda name: version if name == "torch" else true(name)

    client.run(pretend, "1.0")
    try:
        with pytest.raises(RuntimeError, match=r"The worker tcp://.* has torch 1\.0, but this process has"):
            ta.mmd_test(*samples, rng=0, cluster=client)
    finally:
        client.run(pretend, None)


def test_a_scheduler_without_workers_and_one_that_is_killed(samples, small_tiles, monkeypatch, tmp_path):
    monkeypatch.setattr(clusters, "PATIENCE", 2.0)
    where = str(tmp_path / "scheduler.json")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "--scheduler-file", where], **quiet)
    worker = None
    try:
        while not os.path.exists(where):
            time.sleep(0.1)
        with open(where) as file:
            address = json.load(file)["address"]
        with pytest.raises(RuntimeError, match=r"has no workers\. Start some with: dask worker tcp://"):
            ta.mmd_test(*samples, rng=0, cluster=address)
        worker = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", address], **quiet)
        monkeypatch.setattr(clusters, "PATIENCE", 30.0)
        with pytest.raises(ConnectionError, match="Dask scheduler at tcp://"):
            ta.mmd_test(*samples, rng=0, cluster=address, progress=at_a_quarter(scheduler.kill))
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()


# --- what it costs --------------------------------------------------------------------------------------------------


def test_a_cost_is_told_and_nothing_computed(samples, files, client):
    cost = mmd_test_cost(*samples, null="binned", max_memory="100MB")
    assert (cost.rows, cost.coordinates, cost.tile) == (1062, 5, (256, 1024))
    assert 0 < cost.seconds < 60
    assert cost.memory < 100e6
    assert "1,062 rows of 5 numbers" in str(cost)
    assert mmd_test_cost(*files["npy"], cluster=client).workers == 2
    with pytest.raises(ValueError, match="is not a single pass over tiles"):
        mmd_test_cost(*samples, null="spectral")


def test_an_estimate_is_near_the_truth(monkeypatch):
    """By a clock on which each tile takes a hundredth of a second, whatever else the machine does."""
    tiles = []

    def kernel(a, b):
        tiles.append(1)
        return (-torch.cdist(a, b)).exp()

    monkeypatch.setattr(costs, "time", SimpleNamespace(perf_counter=lambda: 0.01 * len(tiles)))
    X, Y = (torch.randn(3000, 4, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    options = {"null": "binned", "permutations": 19, "rng": 0, "threads": 1, "max_memory": "8MB"}
    expected = mmd_test_cost(X, Y, kernel, **options)
    tiles.clear()
    ta.mmd_test(X, Y, kernel, **options)
    assert expected.tiles > 100
    assert expected.seconds == pytest.approx(0.01 * len(tiles), rel=0.1)


def test_the_command_line_estimates(files, capsys, monkeypatch):
    a, b = map(str, files["npy"])
    assert main(["compare", a, b, "--test", "ard", "--cost"]) == 0
    told = capsys.readouterr().out
    assert "tiles of" in told
    assert "MB of memory" in told
    monkeypatch.setattr(clusters, "PATIENCE", 1.0)
    assert main(["compare", a, b, "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "No Dask scheduler answers at" in capsys.readouterr().err
