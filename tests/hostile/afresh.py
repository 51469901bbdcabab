"""Odd names, files, options, tables and arrays, and outputs in the wrong place: the second table of hostile inputs."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from inputs import (
    FRAME,
    GOOD,
    NUMBERS,
    Case,
    Content,
    npy,
    npz,
    parquet,
    png,
    reference,
    table,
    tensors,
    zarr_v2,
)

TWO: dict[str, Content] = {"a.csv": table(), "b.csv": GOOD}
#: What a good call prints.
ANSWER = "differ|No difference"


def link(target: str, make: Callable[..., None] = os.symlink) -> Callable[[Path], None]:
    """A link to another file of the same case, which is made before."""
    return lambda path: make(target if make is os.symlink else path.parent / target, path)


def overwritten() -> list[Case]:
    """Outputs that are inputs, parts of inputs, or other outputs; links and dots are seen through."""
    watched: dict[str, Content] = {"r.tellapart": reference, "b.csv": GOOD, "c.csv": table(seed=3)}
    images = {f"imgs/{k}.png": png(8, 8) for k in range(4)}
    parts: dict[str, Content] = {f"p/{k}.parquet": parquet(FRAME) for k in range(2)}
    run = {"run/checkpoint.safetensors": "mine"}
    test, rank = ("test", "a.csv", "b.csv", "--json"), ("rank", "a.csv", "b.csv", "c.csv")
    three = TWO | {"c.csv": GOOD}
    watch = ("watch", "r.tellapart", "b.csv")
    calls: dict[str, tuple[Mapping[str, Content], tuple[str, ...], str]] = {
        "A": (TWO, (*test, "a.csv"), "--json would overwrite A"),
        "B": (TWO, (*test, "b.csv"), "--json would overwrite B"),
        "a dot": (TWO, (*test, "./a.csv"), "--json would overwrite A"),
        "two dots": (TWO | {"sub/x": "x"}, (*test, "sub/../a.csv"), "--json would overwrite A"),
        "a link": (TWO | {"l": link("a.csv")}, (*test, "l"), "--json would overwrite A"),
        "a link that is read": (TWO | {"l.csv": link("a.csv")}, ("test", "l.csv", "b.csv", "--json", "a.csv"), "A"),
        "a hard link": (TWO | {"h": link("a.csv", os.link)}, (*test, "h"), "--json would overwrite A"),
        "a linked folder": (TWO | {"l": link(".")}, (*test, "l/l/a.csv"), "--json would overwrite A"),
        "a member": ({"x.npz": npz(x=npy(NUMBERS)), "b.npy": npy(NUMBERS)},
                     ("test", "x.npz:x", "b.npy", "--json", "x.npz"), "--json would overwrite A"),
        "features": (TWO | {"m": "mine"}, ("test", "a.csv", "b.csv", "--features", "onnx:m", "--json", "m"),
                     "--json would overwrite --features onnx"),
        "a part": (TWO | parts, ("test", "p", "b.csv", "--json", "p/0.parquet"), "into the input folder 'p'"),
        "a new part": (TWO | parts, ("test", "p", "b.csv", "--json", "p/./new.parquet"), "into the input folder 'p'"),
        "a new image": (images, ("test", "imgs", "imgs", "--json", "imgs/x.png"), "into the input folder 'imgs'"),
        "a store": (TWO | {"x.zarr": zarr_v2()}, ("test", "x.zarr", "b.csv", "--json", "x.zarr/.zattrs"), "into the"),
        "compare": (TWO, ("compare", "a.csv", "b.csv", "--json", "b.csv"), "--json would overwrite B"),
        "compare, page and numbers": (TWO, ("compare", "a.csv", "b.csv", "--json", "r.html", "--report", "./r.html"),
                                      "--report and --json are the same file"),
        "compare, linked outputs": (TWO | {"l.html": link("r.html")},
                                    ("compare", "a.csv", "b.csv", "--json", "r.html", "--report", "l.html"),
                                    "--report and --json are the same file"),
        "compare, page": ({"a.html": "mine", "b.csv": GOOD}, ("compare", "a.html", "b.csv", "--report", "a.html"),
                          "--report would overwrite A"),
        "groups": (TWO, ("compare", "--by", "a", "a.csv", "--json", "a.csv"), "--json would overwrite A"),
        "rank, reference": (three, (*rank, "--json", "a.csv"), "--json would overwrite REAL"),
        "rank, model": (three, (*rank, "--json", "c.csv"), "--json would overwrite MODEL 2"),
        "rank, two": (three, (*rank, "--json", "r", "--report", "r"), "--report and --json are the same"),
        "reference": (TWO, ("reference", "a.csv", "-o", "a.csv"), "--out would overwrite X"),
        "reference, a link": (TWO | {"l": link("a.csv")}, ("reference", "a.csv", "-o", "l"), "--out would overwrite X"),
        "state and numbers": (watched, (*watch, "--state", "s.json", "--json", "s.json"), "--state and --json are the"),
        "state and page": (watched, (*watch, "--state", "s.html", "--report", "./s.html"), "--state and --report are"),
        "state and metrics": (watched, (*watch, "--state", "s", "--prometheus", "s"), "--state and --prometheus are"),
        "state and lock": (watched, (*watch, "--state", "s", "--json", ".s.lock"), "the lock of --state and --json"),
        "a linked state": (watched | {"l": link("s")}, (*watch, "--state", "l", "--json", "s"), "--state and --json"),
        "state and batch": (watched, (*watch, "c.csv", "--state", "c.csv"), "--state would overwrite NEW 2"),
        "state and reference": (watched, (*watch, "--state", "r.tellapart"), "--state would overwrite REFERENCE"),
        "metrics and reference": (watched, (*watch, "--prometheus", "r.tellapart"), "would overwrite REFERENCE"),
        "a sample": (run | {"x.npz": link("run/checkpoint.safetensors")}, ("sample", "run", "--out", "x.npz"),
                     "--out would overwrite the checkpoint of RUN"),
        "training data": (images, ("train", "gmmn", "--data", "imgs", "--out", "./imgs"), "--out would overwrite --d"),
        "pictures among data": (images, ("train", "gmmn", "--data", "imgs", "--out", "imgs/run"), "the input folder"),
        "a checkpoint as data": (run, ("train", "gmmn", "--data", "run/checkpoint.safetensors", "--out", "run"),
                                 "the checkpoint in --out would overwrite --data"),
        "samples to criticise": (images, ("reproduce", "criticism", "--samples", "imgs", "--out", "imgs/../imgs"),
                                 "--out would overwrite --samples"),
    }  # fmt: skip
    return [Case(f"overwrite: {name}", files, arguments, says) for name, (files, arguments, says) in calls.items()]


def odd_values() -> list[Case]:
    """Values of options that are no numbers, or none that make sense, and options that others make meaningless."""
    more = TWO | {"c.csv": table(seed=3), "r.tellapart": reference, "t.csv": table(columns="abg", g=list("uv") * 20)}
    more |= {"d.npz": npz(images=npy((255 * np.random.default_rng(0).random((200, 8, 8))).astype(np.uint8)))}
    test, compare = ("test", "a.csv", "b.csv"), ("compare", "a.csv", "b.csv")
    watch, rank = ("watch", "r.tellapart", "b.csv"), ("rank", "a.csv", "b.csv", "c.csv")
    train = ("train", "gmmn", "--data", "d.npz", "--out", "run", "--steps", "2", "--set", "batch_size=20", "noise=2")
    level = "alpha must|not a number|invalid float"
    calls: dict[tuple[str, ...], str] = {
        **{(*test, "--alpha", value): level for value in ("-1", "inf", "1e309", "", "abc", "0", "1", "-0.0")},
        **{(*test, "--permutations", value): "positive integer" for value in ("-1", "0", "1.5", "", "nan", "1e3")},
        **{(*compare, "--permutations", value): "permutations" for value in ("-1", "0", "1.5", "", "nan")},
        **{(*test, "--threads", value): "is not a positive integer" for value in ("0", "-1", "", "two")},
        **{(*test, "--seed", value): "is not a non-negative integer" for value in ("-1", "", "0x10", "1_0", "²")},
        **{(*test, "--max-memory", value): "memory" for value in ("", "-1GB", "nan", "inf", "1e309", "1 XB", ".")},
        **{(*test, "--image-size", value): "size" for value in ("0x0", "0x5", "1x1x1x1", "axb", "", "5")},
        **{(*test, "--columns", value): "column|names" for value in ("", ",", '"', "a,a,zz")},
        **{(*test, "--drop", value): "column|names" for value in ("zz", '"a', "a\nb", '"a" b')},
        (*test, "--groups", ""): "no column ''",
        (*test, "--cluster", ""): "No Dask scheduler answers at ''",
        (*test, "--cluster", "tls://127.0.0.1:9"): "tls needs certificates. Set distributed.comm.tls",
        (*test, "--cluster", "ucx://127.0.0.1:9"): "Cannot connect to a Dask scheduler|No Dask scheduler",
        (*test, "--cluster", "inproc://1.2.3.4/5/6"): "Dask scheduler",
        (*test, "--cluster", "\x1b[2J://x"): r"No Dask scheduler answers at '\\+x1b",
        (*test, "--strata", ""): "no column ''",
        (*test, "--json", ""): "path|name|folder",
        (*test, "--missing", "Drop"): "invalid choice",
        (*test, "--seed", "1", "--seed", "2"): "--seed: is given more than once",
        (*test, "--drop", "a", "--drop", "b"): "--drop: is given more than once",
        (*test, "\x1b[2J"): r"unrecognized arguments: \\x1b\[2J",
        (*test, "c\n.csv"): r"unrecognized arguments: c\\n.csv",
        (*test, "--\x1b[2J"): r"unrecognized arguments: --\\x1b\[2J",
        (*test, "--paired", "--groups", "a"): "--paired takes neither --groups nor --strata",
        (*compare, "--fail-auc", "nan"): "is not an AUC",
        (*compare, "--fail-auc", "0.4"): "is not an AUC",
        (*compare, "--fail-effect", "-1"): "is not a non-negative effect",
        (*compare, "--fail-effect", "nan"): "is not a non-negative effect",
        (*compare, "--names", "x,x"): "Names must be unique",
        (*compare, "--names", ","): "Names must be unique",
        (*compare, "--names", ""): "two samples|unique",
        (*compare, "--train-size", "0.4"): "--train-size is an option of a learned test. Name one with --test ard",
        (*compare, "--criterion", "t"): "--criterion is an option of a learned test. Name one with --test ard",
        (*compare, "--cross-fit"): "--cross-fit is an option of a learned test. Name one with --test ard",
        (*compare, "--test", "rbf", "--train-size", "nan"): "share to learn from",
        (*compare, "--test", "rbf", "--train-size", "1.5"): "share to learn from",
        (*compare, "--test", "rbf", "--cost", "--json", "r.json"): "--json has no effect with --cost",
        (*compare, "--cost"): "nothing to estimate",
        ("compare", "--by", "g", "t.csv", "--names", "u,v"): "--names applies to two samples",
        ("compare", "--by", "g", "t.csv", "--test", "auto"): "--test applies to two samples",
        (*rank, "--train-size", "0.5"): "--train-size applies to a learned kernel only",
        (*rank, "--kernel", "rbf", "--train-size", "0"): "train",
        (*rank, "--kernel", "witness"): "invalid choice",
        (*rank, "--names", "x,x"): "Names must be unique",
        (*rank, "--names", "x"): "2 models, but 1 in --names",
        (*rank, "--alpha", "nan"): "alpha",
        (*watch, "--alpha", "nan"): "alpha",
        (*watch, "--alpha", "0"): "alpha",
        (*watch, "--horizon", "0"): "is not a positive integer",
        (*watch, "--control", "anytime", "--horizon", "3"): "but the control is anytime",
        (*watch, "--control", "fdr", "--horizon", "50"): "but the control is fdr",
        (*watch, "--state", "s.json", "--horizon", "3"): "but the control is anytime",
        (*watch, "--state", "s.json", "--refine-permutations", "99"): "applies to --control fwer and fdr only",
        (*watch, "--permutations", "9" * 29): "at most|permutations",
        (*watch, "--max-memory", "many"): "memory",
        ("reference", "a.csv", "-o", "r", "--max-kept-rows", "0"): "is not a positive integer",
        ("reference", "a.csv", "-o", ""): "path|name|folder",
        ("reference", "a.csv", "-o", "r", "--columns", "zz"): "no column 'zz'",
        (*train, "--device", "cuda:7"): "Device 'cuda:7' is not available",
        (*train, "--device", "meta"): "Device 'meta' is not available",
        (*train, "--device", "\x1b[2J"): r"Device '\\x1b\[2J' is not available",
        (*train, "--batch-size", "9" * 29): "A batch has|more than once|rows",
        (*train, "hidden=[]"): "hidden",
        (*train, "hidden=[0]"): "hidden",
        (*train, "hidden={}"): "hidden",
        (*train, "=3"): "setting",
        (*train, "learning_rate=nan"): "learning_rate",
        (*train, "learning_rate=-1"): "learning_rate",
        (*train, "learning_rate=null"): "learning_rate",
        ("train", "gmmn", "--data", "none", "--out", "run"): "does not exist",
        ("train", "gmmn", "--data", "", "--out", "run"): "does not exist|empty path",
        ("train", "gmmn", "--data", "d.npz", "--out", "a.csv", "--set", "batch_size=20"): "a.csv",
        ("train", "gmmn", "--data", "a.csv", "--out", "run"): "holds a table",
        ("sample", "none", "--out", "x.npz"): "does not contain a training run",
        ("sample", "none", "--out", "x.txt"): "Unsupported format|no training run",
        ("sample", "none", "--out", "none/x.npz"): "folder none does not exist",
        ("demo", "--out", "none/x.html"): "folder none does not exist",
        ("demo", "--out", "x.pdf"): "is an HTML page",
        ("reproduce", "speed", "--samples", "a.csv"): "does not accept --samples",
        ("reproduce", "paper", "--steps", "0"): "is not a positive integer",
    }  # fmt: skip
    return [Case(f"value: {' '.join(call)!a:.150}", more, call, says) for call, says in calls.items()]


def odd_places() -> list[Case]:
    """Where nothing can be written, or nothing can be read from."""
    test = ("test", "a.csv", "b.csv", "--quiet", "--permutations", "19")
    compare = ("compare", "a.csv", "b.csv", "--quiet", "--permutations", "19")
    calls: dict[str, tuple[Mapping[str, Content], tuple[str, ...], str]] = {
        "json on a full disk": (TWO, (*test, "--json", "/dev/full"), "/dev/full cannot be written: No space left"),
        "json, compare, on a full disk": (TWO, (*compare, "--json", "/dev/full"), "/dev/full cannot be written"),
        "json in proc": (TWO, (*test, "--json", "/proc/r.json"), "cannot be written|does not take new files"),
        "json in a file": (TWO, (*test, "--json", "a.csv/r.json"), "does not exist"),
        "json, a loop of links": (TWO | {"l": link("l")}, (*test, "--json", "l/r.json"), "does not exist|cannot be"),
        "json, a long name": (TWO, (*test, "--json", "x" * 300), "cannot be written|name"),
        "json, a zero byte": (TWO, (*test, "--json", "a\0b"), "null|cannot be written|name"),
        "page, a folder": (TWO | {"r.html/x": "x"}, (*compare, "--report", "r.html"), "is a folder"),
        "page in proc": (TWO, (*compare, "--report", "/proc/r.html"), "cannot be written|does not take new files"),
        "reference, a folder": (TWO | {"r/x": "x"}, ("reference", "a.csv", "-o", "r"), "is a folder"),
        "reference in proc": (TWO, ("reference", "a.csv", "-o", "/proc/r"), "cannot be written|does not take new"),
        "state in proc": (TWO | {"r": reference}, ("watch", "r", "b.csv", "--state", "/proc/s"), "not take|cannot"),
        "run in a file": ({"d.npz": npz(images=npy(np.zeros((99, 8, 8), np.uint8))), "f": "x"},
                          ("train", "gmmn", "--data", "d.npz", "--out", "f/run", "--set", "batch_size=20"), "f/run"),
        "nothing read": (TWO, ("test", "/dev/null", "b.csv"), "is neither a file nor a folder"),
        "stdin read": (TWO, ("test", "/dev/stdin", "b.csv"), "is neither a file nor a folder|suffix|empty"),
        "dash read": (TWO, ("test", "-", "b.csv"), "does not exist"),
        "memory read": (TWO, ("test", "/proc/self/mem", "b.csv"), "suffix|empty file"),
        "socket read": ({"s.csv": _socket, "b.csv": GOOD}, ("test", "s.csv", "b.csv"), "is neither a file nor"),
        "loop read": (TWO | {"l": link("l")}, ("test", "l/a.csv", "b.csv"), "cannot be read: Too many levels"),
        "folder read": (TWO | {"d.csv/a.csv": GOOD}, ("test", "d.csv", "b.csv"), "is damaged|folder|Is a directory"),
        "folder as npy": ({"d.npy/x": "x", "b.npy": npy(NUMBERS)}, ("test", "d.npy", "b.npy"), "folder|directory"),
        "folder as parquet": (TWO | {"d.parquet/x": "x"}, ("test", "d.parquet", "b.csv"), "folder|directory|without"),
        "folder as jsonl": (TWO | {"d.jsonl/x": "x"}, ("test", "d.jsonl", "b.csv"), "folder|directory"),
        "folder of loops": ({"d/l.png": link("l.png"), "b.csv": GOOD}, ("test", "d", "b.csv"), "empty folder"),
        "newline in a name": (TWO, ("test", "no\nfile.csv", "b.csv"), r"no\\nfile.csv"),
        "quotes in a name": (TWO, ("test", "it's \"it\".csv", "b.csv"), "it's \"it\".csv. does not exist"),
        "a dash in front": (TWO, ("test", "--", "-x.csv", "b.csv"), "-x.csv. does not exist"),
        "marks in a name": (TWO, ("test", "\u202egnp.csv", "b.csv"), r"\\u202egnp.csv"),
        "a dot": (TWO, ("test", ".", "b.csv"), "PNG|folder|images"),
        "a url": (TWO, ("test", "https://example.com/a.csv", "b.csv"), "does not exist"),
        "a url of a store": (TWO, ("test", "s3://bucket/a.zarr", "b.csv"), "does not exist"),
    }  # fmt: skip
    return [Case(f"place: {name}", files, arguments, says) for name, (files, arguments, says) in calls.items()]


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def odd_contents() -> list[Case]:
    """Files that are refused; each beside a good one of three columns."""
    rows = "1,2,3\n4,5,6\n" * 20
    deep = pa.table({"a": [{"x": 1}] * 40, "b": [2] * 40, "c": [3] * 40})
    contents: dict[str, tuple[Content, str]] = {
        "bom.csv": (b"\xef\xbb\xbf", "empty|no rows|no columns"),
        "bomhead.csv": (b"\xef\xbb\xbfa,b,c\n", "is empty: it has no rows"),
        "gzgz.csv.gz": (gzip.compress(gzip.compress(GOOD.encode())), "zero byte|not a|damaged|columns"),
        "emptygz.csv.gz": (gzip.compress(b""), "empty|no rows"),
        "parquet.csv": (parquet(FRAME), "zero byte"),
        "csv.parquet": (GOOD, "is damaged, or not in the format"),
        "npy.npz": (npy(NUMBERS), "is damaged, or not in the format"),
        "npz.npy": (npz(x=npy(NUMBERS)), "does not hold a NumPy array"),
        "png.csv": (b"\x89PNG\r\n\x1a\n" + bytes(99), "zero byte"),
        "onerow.csv": ("a,b,c\n1,2,3\n", "at least|needed|rows"),
        "cr.csv": ("a,b\r1,2\r3,4\r" * 9, "columns|types|number|lacks"),
        "unclosed.csv": ('a,b,c\n"1,2,3\n' + rows, "not a|regular|types|rows"),
        "longer.csv": ("a,b,c,d\n" + rows, "lacks 'd'"),
        "shorter.csv": ("a,b\n" + rows, "lacks|regular|columns"),
        "comments.csv": ("# made by x\n" + GOOD, "regular|lacks|columns"),
        "allmissing.csv": ("a,b,c\n" + ",,\n" * 40, "missing values"),
        "onemissing.csv": (table(a=""), "missing values in 'a'"),
        "ages.csv": (table(a7="12 years"), "1 value that is not a number: '12 years' in row 7"),
        "header2.csv": (GOOD + GOOD, "not a number|not numbers"),
        "object.npy": (npy(np.array([[1, "x", None]] * 40, object), allow_pickle=True), "holds Python objects"),
        "nat.npy": (npy(np.full((40, 3), "NaT", "M8[ns]")), "must hold numbers"),
        "void.npy": (npy(np.zeros((40, 3), "V4")), "must hold numbers"),
        "unicode.npy": (npy(np.full((40, 3), "x")), "must hold numbers"),
        "code.npy": (b"\x93NUMPY\x01\x00v\x00" + b"{'descr':__import__('os').mkdir('harm')}".ljust(117) + b"\n", "Num"),
        "fields.npy": (npy(np.zeros(40, [("a", "f8"), ("b", "i4"), ("c", "u1")])), "must hold numbers"),
        "five.npy": (npy(np.zeros((4, 2, 2, 2, 0))), "no columns|empty"),
        "struct.parquet": (parquet(deep), "'a' that holds values"),
        "map.parquet": (parquet(pa.table({"a": pa.array([[("k", 1)]] * 40, pa.map_(pa.string(), pa.int8())),
                                          "b": [2] * 40, "c": [3] * 40})), "'a' that holds values|lists"),
        "nulls.parquet": (parquet(pa.table({"a": pa.nulls(40), "b": [2] * 40, "c": [3] * 40})), "values in 'a'"),
        "lists.jsonl": ('{"a":[[1],[2]],"b":1,"c":2}\n' * 40, "lists of lists"),
        "nulls.jsonl": ('{"a":null,"b":1,"c":2}\n' * 40, "missing values in 'a'"),
        "bare.jsonl": ("null\n" * 40, "is not a table of JSON lines"),
        "unclosed.jsonl": ('{"a":1,"b":1,"c":2}\n' * 40 + '{"a":1', "JSON|damaged"),
        "array.json": (json.dumps([{"a": 1, "b": 2, "c": 3}] * 40), "Unsupported format '.json'"),
        "noname.png": (png(8, 8), "Unsupported format '.png'|image"),
        "cut.safetensors": (tensors(), "empty"),
    }  # fmt: skip
    cases = []
    for name, (content, says) in contents.items():
        good = "good.npy" if name.endswith(".npy") else "good.csv"
        files: dict[str, Content] = {name: content, good: npy(NUMBERS) if good == "good.npy" else GOOD}
        cases.append(Case(f"content: {name}", files, ("test", name, good, "--permutations", "19"), says))
    return cases


def seams() -> list[Case]:
    """What formats understand differently, and files that are small and would take much time or memory."""
    object_ = '{"a":1,"b":1,"c":2}'
    big = "a,b,c\n" + "".join(f"{2**53 + k},{k},{k * k}\n" for k in range(40))
    calls: dict[str, tuple[Content, str, tuple[str, ...]]] = {
        "two on a line.jsonl": ((object_ + object_ + "\n") * 40, "row 0 has several objects on one line", ()),
        "new keys.jsonl": (
            "".join(f'{{"k{k}":1}}\n' for k in range(8_000)),
            "50.0 MB are allowed",
            ("--max-memory", "50MB"),
        ),
        "equal names.csv": (",".join(["a"] * 2_000) + "\n" + ",".join(["1"] * 2_000) + "\n", "lacks 'a .2.'", ()),
        "one line.csv.gz": (
            gzip.compress(b"a,b,c\n1,2," + b"3" * 20_000_000),
            "a line longer than 16,777,216 bytes",
            ("--max-memory", "100MB"),
        ),
        "bomb.csv.gz": (
            gzip.compress(b"a,b,c\n" + b"x" * 60_000_000),
            "a line longer than 16,777,216 bytes",
            ("--max-rows", "50"),
        ),
        "merged.csv": (big, "whole numbers beyond 2..53", ()),
        "merged with a gap.csv": (big + ",1,1\n", "whole numbers beyond 2..53", ("--missing", "indicator")),
        "beyond int64.csv": (big.replace(str(2**53), str(2**70)), "whole numbers beyond 2..53", ()),
        "merged.jsonl": (
            f'{{"a":{2**53 + 1},"b":1,"c":2}}\n{{"a":{2**53},"b":1,"c":2}}\n' * 20,
            "whole numbers beyond 2..53",
            (),
        ),
        "NA.csv": (table(a7="NA"), "missing values in 'a' .1 of 40.", ()),
        "null words.csv": (table(a7="null"), "missing values in 'a' .1 of 40.", ()),
    }
    cases = [
        Case(f"seam: {name}", {name: content, "good.csv": GOOD}, ("test", name, "good.csv", *more), says)
        for name, (content, says, more) in calls.items()
    ]
    folders: dict[str, tuple[dict[str, Content], str]] = {
        "hive": ({"f/k=1/x.parquet": parquet(FRAME), "f/k=2/x.parquet": parquet(FRAME)}, "Hive partitions"),
        "hidden parts": (
            {"f/_x.parquet": parquet(FRAME), "f/.y.parquet": parquet(FRAME)},
            "without PNG or JPEG images",
        ),
        "other parts": (
            {"f/1.parquet": parquet(FRAME), "f/2.parquet": parquet(FRAME[["a"]])},
            "parts with different columns",
        ),
    }
    return cases + [
        Case(f"seam: {name}", {**files, "good.csv": GOOD}, ("test", "f", "good.csv"), says)
        for name, (files, says) in folders.items()
    ]


def odd_and_good() -> list[Case]:
    """What looks odd and is answered."""
    x, y = NUMBERS, np.random.default_rng(5).normal(size=(40, 3))
    other = table(seed=7)

    def frame(**columns: object) -> str:
        return pd.DataFrame(columns).to_csv(index=False)

    named = {"image_size": x[:, 0], "max-rows": x[:, 1], "drop='a'": x[:, 2], "{keep}": y[:, 0]}
    pairs: dict[str, tuple[str, Content, Content]] = {
        "semicolons": ("csv", GOOD.replace(",", ";"), other),
        "constants": ("csv", "a,b\n" + "1,x\n" * 20, "a,b\n" + "1,x\n" * 30),
        "constant arrays": ("npy", npy(np.ones((20, 2))), npy(np.ones((30, 2)))),
        "utf-32": ("csv", GOOD.encode("utf-32"), other),
        "bom": ("csv", b"\xef\xbb\xbf" + GOOD.encode(), other),
        "crlf": ("csv", GOOD.replace("\n", "\r\n"), other),
        "no last newline": ("csv", GOOD.rstrip("\n"), other),
        "blank lines at the end": ("csv", GOOD + "\n\n", other),
        "one column": ("csv", table(columns="a"), table(columns="a", seed=7)),
        "names like arguments": ("csv", frame(**named), frame(**{k: v[::-1] for k, v in named.items()})),
        "names that act": ("csv", frame(**{"\x1b[2J": x[:, 0]}), frame(**{"\x1b[2J": y[:, 0]})),
        "one name thrice": ("csv", "a,a,a\n" + GOOD.split("\n", 1)[1], "a,a,a\n" + other.split("\n", 1)[1]),
        "big-endian": ("npy", npy(x.astype(">f8")), npy(y)),
        "fortran": ("npy", npy(np.asfortranarray(x)), npy(y)),
        "one dimension": ("npy", npy(x[:, 0]), npy(y[:, 0])),
        "five dimensions": ("npy", npy(x.reshape(40, 3, 1, 1, 1)), npy(y.reshape(40, 3, 1, 1, 1))),
        "booleans": ("npy", npy(x > 0), npy(y > 0)),
        "half precision": ("npy", npy(x.astype("f2")), npy(y.astype("f2"))),
        "long double": ("npy", npy(x.astype("g")), npy(y.astype("g"))),
        "small numbers": ("npy", npy(x * 1e-300), npy(y * 1e-300)),
        "dictionary": ("parquet", parquet(pa.table({"a": pa.array(["u", "v"] * 20).dictionary_encode()})),
                       parquet(pa.table({"a": pa.array(["v", "u", "u", "v"] * 10).dictionary_encode()}))),
        "dates": ("parquet", parquet(pa.table({"a": pa.array(range(40), pa.timestamp("ns"))})),
                  parquet(pa.table({"a": pa.array(range(20, 60), pa.timestamp("ns"))}))),
        "json lines": ("jsonl", FRAME.to_json(orient="records", lines=True),
                       FRAME[::-1].to_json(orient="records", lines=True)),
    }  # fmt: skip
    quick = ("--permutations", "19")
    return [
        *(
            Case(
                f"answered: {command}, {name}",
                {f"p.{end}": first, f"q.{end}": second},
                (command, f"p.{end}", f"q.{end}", *quick),
                ANSWER,
                code=0,
            )
            for name, (end, first, second) in pairs.items()
            for command in ("test", "compare")
        ),
        Case(
            "answered: odd file names",
            {"-a 'b\n\x1b\u202e.csv": GOOD, 'ü"$(x).csv': other},
            ("test", "./-a 'b\n\x1b\u202e.csv", 'ü"$(x).csv', *quick),
            ANSWER,
            code=0,
        ),
        Case("answered: to nowhere", TWO, ("compare", "a.csv", "b.csv", *quick, "--json", "/dev/null"), ANSWER, code=0),
        Case("answered: another case", TWO, ("test", "a.csv", "b.csv", *quick, "--json", "A.csv"), ANSWER, code=0),
        Case("answered: Arabic digits", TWO, ("test", "a.csv", "b.csv", "--permutations", "١٩"), ANSWER, code=0),
    ]


CASES = [*overwritten(), *odd_values(), *odd_places(), *odd_contents(), *seams(), *odd_and_good()]
