"""What is said of clusters that cannot be used."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tellapart as ta
from tellapart._util.errors import InputError

distributed = pytest.importorskip("distributed")
# As in test_scaling.py: a scheduler may leave a socket to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
X, Y = (np.random.default_rng(k).normal(size=(30, 2)) for k in range(2))


def test_a_client_that_is_closed() -> None:
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        client.close()
        with pytest.raises(ConnectionError, match=r"The Dask client is closed\. Give cluster= an open one"):
            ta.mmd_test(X, Y, permutations=19, cluster=client)


def test_a_client_that_does_not_wait() -> None:
    async def call() -> None:
        scheduler = distributed.Scheduler(port=0, dashboard_address=":0", host="127.0.0.1")
        async with scheduler, distributed.Client(scheduler.address, asynchronous=True) as client:
            with pytest.raises(TypeError, match="The Dask client is asynchronous"):
                ta.mmd_test(X, Y, permutations=19, cluster=client)

    asyncio.run(call())


def test_tls_without_certificates() -> None:
    with pytest.raises(InputError, match="tls needs certificates") as raised:
        ta.mmd_test(X, Y, permutations=19, cluster="tls://127.0.0.1:9")
    assert isinstance(raised.value, ConnectionError)
