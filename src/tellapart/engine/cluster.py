"""Strips as tasks of a Dask cluster, whose workers read their own rows.

The job travels to every worker that takes part. Panels of strips are tasks, and so is every joint of the tree. A task
that is lost with its worker is done again by another. What cannot go on ends with one error that says why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .._util import workers
from .._util.errors import InputConnectionError, InputMemoryError, InputTypeError
from .._util.extras import extra
from .executors import Divisible, Executor, Job, Progress, tree

#: Seconds to wait for the scheduler, for a first worker, and for a worker to come back when all are gone.
PATIENCE = 30.0
#: Seconds between two looks at whether anybody is still there.
_LOOK = 1.0
#: What must have the same version everywhere: another may round in another way.
_SAME = ("tellapart", "torch", "numpy", "scipy")


@contextmanager
def cluster_executor(cluster: Any, threads: int) -> Iterator[Executor | None]:
    """Yield an executor on the workers of a cluster, or None for this process. The connection is closed at the end.

    Parameters
    ----------
    cluster
        None; the address of a Dask scheduler; ``"local"`` for a cluster on this machine, which lives as long as the
        block; or a ``dask.distributed.Client``, which is left open.
    threads
        How many workers ``"local"`` starts.
    """
    if cluster is None:
        yield None
        return
    distributed = extra("distributed", group="dask", what="cluster=")
    if isinstance(cluster, distributed.Client):
        if cluster.asynchronous:
            raise InputTypeError(
                "invalid-cluster",
                "The Dask client is asynchronous.",
                "Pass a synchronous client as {cluster}.",
                cluster=...,
            )
        if cluster.status not in ("running", "connecting"):
            raise InputConnectionError(
                "cluster-lost", f"The Dask client is {cluster.status}.", "Give {cluster} an open one.", cluster=...
            )
        yield Cluster(cluster, distributed)
    elif cluster == "local":
        with _local(distributed, threads) as local, _client(distributed, local) as client:
            yield Cluster(client, distributed)
    elif isinstance(cluster, str):
        with _client(distributed, cluster) as client:
            yield Cluster(client, distributed)
    else:
        raise InputTypeError(
            "invalid-cluster",
            f"An object of type {type(cluster).__name__} is not a cluster.",
            "{cluster} takes the address of a scheduler such as 'tcp://host:8786', 'local' or a "
            "dask.distributed.Client.",
            cluster=...,
        )


class Cluster:
    """An `Executor` on the workers of a Dask cluster."""

    def __init__(self, client: Any, distributed: Any) -> None:
        self.client, self.distributed = client, distributed
        self.address = client.scheduler.address if client.scheduler else "the scheduler"
        self._check_workers()

    def reduce(self, job: Job, progress: Progress | None) -> Any:
        """Compute all parts of the job and join them."""
        dask = extra("dask", group="dask", what="cluster=")
        panels = job.panels(len(self._threads()))
        sizes = [job.size(panel) for panel in panels]
        # The job is a task's result and not scattered: so it is made again where all who had it are gone.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            shared = self.client.submit(_unpickle, self._pickle(job), pure=False)
            data = [job.data_of(panel) if isinstance(job, Divisible) else None for panel in panels]
            ends = [(panel.start, panel.stop) for panel in panels]
            parts = self.client.map(_part, ends, data, job=shared, pure=False)
        whole = tree(lambda a, b: self.client.submit(_join, shared, a, b, pure=False), parts)
        try:
            self._follow(dict(zip(parts, sizes, strict=True)), whole, progress)
            return whole.result()
        except BaseException:
            # An error holds on to these, and so the workers would go on.
            if self.client.status == "running":
                self.client.cancel([shared, *parts, whole])
            raise

    def _pickle(self, job: Job) -> bytes:
        try:
            return bytes(extra("cloudpickle", group="dask", what="cluster=").dumps(job))
        except Exception as error:
            raise TypeError(f"The kernel or the samples cannot be sent to the workers: {error}") from error

    def _follow(self, parts: dict[Any, int], whole: Any, progress: Progress | None) -> None:
        """Wait until all tasks are done; raise if a task has failed or no workers are left."""
        done, total = 0, sum(parts.values())
        waiting = self.distributed.as_completed([*parts, whole], loop=self.client.loop)
        seen = looked = time.monotonic()
        while whole.status != "finished":
            self._check(whole)
            for future in waiting.next_batch(block=False):
                self._check(future)
                done += parts.pop(future, 0)
                if progress is not None:
                    progress(done, total)
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                if self._threads():
                    seen = looked
                elif looked - seen > PATIENCE:
                    raise InputConnectionError(
                        "cluster-lost",
                        f"All workers of {self.address} are gone, and for {PATIENCE:.0f} seconds none has come back.",
                        "If they ran out of memory, give a smaller {max_memory} or larger workers.",
                        max_memory=...,
                    )
            time.sleep(0.1)
        if progress is not None:
            progress(total, total)  # the last may have come since the last look

    def _check(self, future: Any) -> None:
        """Raise the exception of a task. A result that was lost with its worker is computed again."""
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                raise InputMemoryError(
                    "not-enough-memory",
                    "Workers repeatedly died at the same task, most likely because they ran out of memory.",
                    "Pass a smaller {max_memory}, which applies to each worker, or use workers with more memory.",
                    max_memory=...,
                ) from None
            raise error
        if future.status == "cancelled":
            raise InputConnectionError(
                "cluster-lost", f"The connection to the Dask scheduler at {self.address} was lost."
            )

    def _threads(self) -> dict[str, int]:
        """The workers and how many threads each has."""
        if self.client.status not in ("running", "connecting"):
            raise InputConnectionError(
                "cluster-lost", f"The connection to the Dask scheduler at {self.address} was lost."
            )
        try:
            return dict(self.client.sync(self.client.scheduler.ncores, callback_timeout=PATIENCE))
        except (OSError, TimeoutError) as error:
            raise InputConnectionError(
                "cluster-lost", f"The Dask scheduler at {self.address} does not answer any more."
            ) from error

    def _check_workers(self) -> None:
        """Raise an error if there are no workers, or if their versions differ from those here."""
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise RuntimeError(
                f"The Dask scheduler at {self.address} has no workers. Start some with: dask worker {self.address}"
            ) from None
        for name in _SAME:
            try:
                ours = version(name)
            except PackageNotFoundError:  # torch, which nothing here computes with then
                continue
            # A function of Python itself, which can be called where tellapart is not installed.
            for worker, theirs in self.client.run(version, name, on_error="return").items():
                if isinstance(theirs, PackageNotFoundError):
                    raise RuntimeError(f"The worker {worker} does not have {name}. Install {name} {ours} there.")
                if theirs != ours:
                    raise RuntimeError(
                        f"The worker {worker} has {name} {theirs}, but this process has {ours}. Install the "
                        "same version everywhere."
                    )


@contextmanager
def _client(distributed: Any, address: Any) -> Iterator[Any]:
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputConnectionError(
            "cluster-not-found",
            f"No Dask scheduler answers at {address!r}.",
            "Start one with `dask scheduler`, or correct {cluster}.",
            cluster=...,
        ) from error
    except Exception as error:  # of whatever a protocol is lacking: certificates, a library, the same process
        reason, advice = str(error).strip() or "it is not there", "{cluster} takes an address such as tcp://host:8786."
        if str(address).startswith("tls://"):
            reason = "tls needs certificates"
            advice = "Set distributed.comm.tls in Dask's configuration, or give {cluster} a Client with its security."
        raise InputConnectionError(
            "cluster-not-found",
            f"Cannot connect to a Dask scheduler at {address!r}: {reason}.",
            advice,
            cluster=...,
        ) from error
    try:
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            client.close()


@contextmanager
def _local(distributed: Any, count: int) -> Iterator[Any]:
    """Start the given number of worker processes with one thread each."""
    cluster = distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    )
    try:
        yield cluster
    finally:
        cluster.close()


def _unpickle(packed: bytes) -> Any:
    """Runs on a worker: return the job."""
    return extra("cloudpickle", group="dask").loads(packed)


def _part(panel: tuple[int, int], data: Any, job: Any) -> Any:
    """Runs on a worker: compute some strips within a share of its memory."""
    limit = extra("distributed", group="dask").get_worker().memory_manager.memory_limit
    job = job if data is None else job.with_data(data)
    job.allow(limit // 2 if limit else None)
    with workers.one_core():
        return job.part(range(*panel), _never_stop)


def _join(job: Any, left: Any, right: Any) -> Any:
    """Runs on a worker: join two parts."""
    with workers.one_core():
        return job.join(left, right)


def _never_stop() -> None:
    """Checkpoint that does nothing: a task on a worker takes seconds and is not interrupted."""
