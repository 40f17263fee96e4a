#!/usr/bin/env python3
"""Makes kernel modules that hold nothing but functions of given bytes.

usage: text_modules.py EMPTY.ko MODULE.lds OUT PER-MODULE [32] < FUNCTIONS

FUNCTIONS is lines of name,hexbytes. A function's bytes end where the next one's
begin, so padding belongs in them. The functions are never called. EMPTY.ko is a
module named kpt0000 without functions, built for the kernel in question; each
module is that one linked with its share of the text, and renamed. 32: a kernel of i386.
"""
import os, subprocess, sys

empty, script, out, per = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
functions = [line.strip().split(",") for line in sys.stdin if line.strip()]
to_as, to_ld = (["--32"], ["-m", "elf_i386"]) if sys.argv[5:] == ["32"] else ([], [])
os.makedirs(out, exist_ok=True)
for n, at in enumerate(range(0, len(functions), per)):
    name = f"kpt{n:04d}"
    lines = [".text", ".balign 64, 0xcc"]
    for label, code in functions[at:at + per]:
        data = ",".join(f"0x{b:02x}" for b in bytes.fromhex(code))
        lines += [f".type {label}, @function", f"{label}:", f".byte {data}"]
    lines += [".type text_end, @function", "text_end:", ".fill 64, 1, 0xcc", ".section .note.GNU-stack", ""]
    text, module = f"{out}/{name}.o", f"{out}/{name}.ko"
    subprocess.run(["as", *to_as, "-o", text, "-"], input="\n".join(lines).encode(), check=True)
    subprocess.run(["ld", *to_ld, "-r", "-z", "noexecstack", "-T", script, "-o", module, empty, text], check=True)
    os.remove(text)
    with open(module, "rb") as f:
        data = f.read().replace(b"kpt0000", name.encode())
    with open(module, "wb") as f:
        f.write(data)
