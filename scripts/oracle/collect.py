#!/usr/bin/env python3
"""Puts the parts of a recording together.

usage: collect.py PARTS PREFIX OUT NAME

PARTS holds PREFIXnnn.bytes and PREFIXnnn.MODE as a job left them; what is
written is OUT/NAME_bytes.csv.gz and OUT/NAME_MODE.csv.gz, rows in order of
address and offset. A file appears when it is whole.
"""
import glob, gzip, os, sys

ROW = "function,addr,offset,errno,opt,ftrace,boostable,emul,isize,aggr,disabled,addr_delta,mem5,slot,slotbytes"
SECOND = ",d,errno2,opt2,ftrace2,boostable2,emul2,isize2,aggr2,disabled2,addr_delta2,mem5_2,slot2,slotbytes2"
PAIRS = ("near", "nearrev", "twosame", "twoprepost")

parts, prefix, out, name = sys.argv[1:5]
paths = glob.glob(f"{parts}/{prefix}[0-9]*.*")
os.makedirs(out, exist_ok=True)
for kind in sorted({p.rsplit(".", 1)[1] for p in paths} - {"modules", "part"}):
    head = "function,addr,size,hexbytes" if kind == "bytes" else ROW + (SECOND if kind in PAIRS else "")
    rows = []
    for path in sorted(p for p in paths if p.endswith("." + kind)):
        with open(path) as f:
            part = f.read().splitlines()
        bad = [row for row in part if row.count(",") != head.count(",")]
        if bad:
            sys.exit(f"{path}: {len(bad)} rows of another shape, the first: {bad[0]}")
        if kind != "bytes":
            part.sort(key=lambda row: (row.split(",")[1], int(row.split(",")[2])))
        rows += part
    target = f"{out}/{name}_{kind}.csv.gz"
    with gzip.open(target + ".part", "wt") as f:
        f.write("\n".join([head, *rows, ""]))
    os.rename(target + ".part", target)
    print(name, kind, len(rows))
