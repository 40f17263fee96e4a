#!/usr/bin/env python3
"""Prints functions of random bytes as name,hexbytes, for text_modules.py.

usage: random_functions.py SEED KIND COUNT [32]

KIND is one of
  u  uniform bytes, 16 to 64, then ret
  l  the same, 64 to 128
  p  one instruction of random prefixes and opcode, then nops, ret
  v  one VEX, EVEX, XOP or REX2 instruction with random fields, then nops, ret
  s  a stream of likely instructions with jumps into each other, ret
With 32 they are of a 32-bit kernel: no REX, addresses of 16 bits behind 67, its own opcodes.
Every function is padded with int3 to a multiple of 16 bytes.
"""
import random, sys

seed, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
bits32 = sys.argv[4:] == ["32"]
r = random.Random(f"{seed}/{kind}" + "/32" * bits32)
LEGACY = [0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65]


def some(n):
    return bytes(r.randrange(256) for _ in range(n))


def prefixes(most):
    return bytes(r.choice(LEGACY) for _ in range(r.randint(0, most)))


def rex():
    return bytes([0x40 | r.randrange(16)]) if r.random() < (0.05 if bits32 else 0.3) else b""


def modrm(address16=False):
    """ModRM and what follows it; most forms, with a displacement of its own."""
    mod, reg, rm = r.randrange(4), r.randrange(8), r.randrange(8)
    out = bytes([mod << 6 | reg << 3 | rm])
    if mod == 3:
        return out
    if address16:
        return out + some(2 if mod == 2 or (mod == 0 and rm == 6) else mod)
    base = rm
    if rm == 4:
        sib = r.randrange(256)
        out += bytes([sib])
        base = sib & 7
    if mod == 1:
        out += some(1)
    elif mod == 2 or (mod == 0 and base == 5):
        out += some(2) + bytes([r.choice([0, 0, 0xff]), r.choice([0, 0xff])])
    return out


def opcode():
    x = r.random()
    if x < 0.3:
        return bytes([r.randrange(256)])
    if x < 0.55:
        return bytes([0x0f, r.randrange(256)])
    if x < 0.75:
        return bytes([0x0f, 0x38, r.randrange(256)])
    if x < 0.9:
        return bytes([0x0f, 0x3a, r.randrange(256)])
    if x < 0.95:
        return bytes([0x0f, 0x0f])
    return bytes([r.choice([0x0f, 0xf6, 0xf7, 0xff, 0xfe, 0x8f, 0xc6, 0xc7, 0x62, 0xc4, 0xc5, 0xd5, 0xd4, 0xd6, 0x82])])


def vector():
    x = r.random()
    op = r.randrange(256)
    if x < 0.15:
        return bytes([0xc5, r.randrange(256), op])
    if x < 0.45:
        p1 = r.randrange(8) << 5 | (r.choice([1, 2, 3, 3, 2]) if r.random() < 0.8 else r.randrange(32))
        return bytes([0xc4, p1, r.randrange(256), op])
    if x < 0.75:
        p0 = r.randrange(16) << 4 | (r.choice([1, 2, 3, 4, 5, 6, 7]) if r.random() < 0.85 else r.randrange(16))
        p1 = r.randrange(256)
        if r.random() < 0.8:
            p1 |= 4
        return bytes([0x62, p0, p1, r.randrange(256), op])
    if x < 0.85:
        return bytes([0x8f, r.randrange(8) << 5 | r.choice([8, 9, 10, 0, 1, 31]), r.randrange(256), op])
    return bytes([0xd5, r.randrange(256), op])


def single(head):
    code = head + modrm(bits32 and 0x67 in head[:4])
    code += some(r.choice([0, 0, 1, 4]))
    return code[:18] + b"\x90" * 15 + b"\xc3"


# Common opcodes, with the bytes of immediate after ModRM.
PLAIN = [(bytes([o]), 0) for o in (0x01, 0x03, 0x09, 0x0b, 0x21, 0x23, 0x29, 0x2b, 0x31, 0x33, 0x39, 0x3b, 0x85, 0x88, 0x89, 0x8a, 0x8b, 0x8d, 0x63, 0xd1, 0xd3, 0xfe, 0xf7, 0xff)]
PLAIN += [(b"\x83", 1), (b"\xc1", 1), (b"\x6b", 1), (b"\x69", 4), (b"\x81", 4), (b"\xc7", 4), (b"\xc6", 1), (b"\x80", 1)]
PLAIN += [(bytes([0x0f, o]), 0) for o in (0xaf, 0xb6, 0xb7, 0xbe, 0xbf, 0x1f, 0x44, 0x45, 0x94, 0x95, 0xa3, 0xab, 0xb1, 0xc1, 0xa5, 0xad, 0x10, 0x11, 0x28, 0x6f, 0x7f, 0xef, 0xc7, 0xae)]
PLAIN += [(b"\x0f\xba", 1), (b"\x0f\xa4", 1), (b"\x0f\x70", 1), (b"\x0f\xc6", 1)]
BARE = [bytes([o]) for o in (0x50, 0x53, 0x55, 0x58, 0x5b, 0x5d, 0x90, 0x98, 0x99, 0x9c, 0x9d, 0xa4, 0xa5, 0xaa, 0xab, 0xc9, 0xc3, 0xcc, 0xf4, 0xfa, 0xfb, 0xfc, 0x9b, 0xec, 0xee, 0xf8)]
BARE += [b"\x0f\x0b", b"\x0f\x05", b"\x0f\xa2", b"\x0f\x31", b"\x0f\x0d\x08", b"\x0f\x01\xca", b"\x0f\x01\xcb", b"\x0f\xae\xe8", b"\x0f\xae\xf0", b"\xcd\x80", b"\xf3\xa4", b"\xf3\x0f\x1e\xfa", b"\xf3\x90", b"\xc2\x08\x00", b"\x0f\x01\xd0", b"\x0f\x00\xc8", b"\xd9\xc0"]
# What only a 32-bit kernel has, with the bytes behind ModRM, and without ModRM.
PLAIN32 = [(b"\x82", 1), (b"\xc4", 0), (b"\xc5", 0), (b"\x62", 0), (b"\x63", 0)]
BARE32 = [bytes([o]) for o in (0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x40, 0x43, 0x48, 0x4f, 0x60, 0x61, 0xce, 0xd6)]
BARE32 += [b"\xd4\x0a", b"\xd5\x0a", b"\x9a\0\0\0\0\x60\0", b"\xea\0\0\0\0\x60\0", b"\xa1\0\0\0\0", b"\x67\xa3\0\0", b"\x66\xb8\1\2", b"\x66\xe8\1\2", b"\x66\x0f\x84\1\2"]


def likely(at, size):
    """One instruction at offset at of a function of about size bytes."""
    if bits32 and r.random() < 0.15:
        if r.random() < 0.6:
            return r.choice(BARE32)
        op, imm = r.choice(PLAIN32)
        return op + modrm() + some(imm)
    x = r.random()
    if x < 0.12:  # a short branch into the function, or close to it
        op = r.choice([0xeb] + list(range(0x70, 0x80)) + [0xe0, 0xe1, 0xe2, 0xe3])
        return bytes([op, (r.randint(-3, size + 3) - at - 2) & 0xff])
    if x < 0.19:
        op = r.choice([b"\xe9", b"\xe8", b"\xe8", b"\x0f\x84", b"\x0f\x8f", b"\x0f\x82", b"\xc7\xf8", b"\x66\xe9", b"\x2e\x0f\x85"])
        to = r.randint(-3, size + 3) if r.random() < 0.7 else r.randint(-5000, 5000)
        return op + ((to - at - len(op) - 4) & 0xffffffff).to_bytes(4, "little")
    if x < 0.21:
        return r.choice([b"\xff\xe0", b"\x41\xff\xe3", b"\xff\xd0", b"\xff\x10", b"\xff\x20", b"\x3e\xff\xe0", b"\xff\x15" + some(4), b"\xff\x25" + some(4)])
    if x < 0.36:
        head = prefixes(1) if r.random() < 0.15 else b""
        return head + r.choice(BARE)
    if x < 0.46:
        return r.choice([bytes([0xb8 + r.randrange(8)]) + some(4), b"\x48" + bytes([0xb8 + r.randrange(8)]) + some(4 if bits32 else 8), b"\xa8" + some(1), b"\x3c" + some(1), b"\x05" + some(4), b"\x68" + some(4), b"\x6a" + some(1), b"\x0f\xc8", b"\x48\x0f\xcb"])
    if x < 0.51:
        return r.choice([b"\xc5\xf9\x6f", b"\xc5\xfd\xef", b"\xc4\xe2\x7d\x59", b"\x62\xf1\x7d\x48\x6f", b"\xc4\xe2\xf1\xf7", b"\xc5\xf8\x77"[:2] + b"\x58"]) + modrm()
    head = (prefixes(2) if r.random() < 0.2 else b"") + (bytes([0x40 | r.randrange(16)]) if not bits32 and r.random() < 0.5 else b"")
    op, imm = r.choice(PLAIN)
    return head + op + modrm(bits32 and 0x67 in head) + some(imm)


def stream():
    size = r.randint(16, 72)
    code = b""
    while len(code) < size:
        code += likely(len(code), size)
    return code + b"\xc3"


for n in range(count):
    if kind in ("u", "l"):
        code = some(r.randint(16, 64) if kind == "u" else r.randint(64, 128)) + b"\xc3"
    elif kind == "p":
        code = single(prefixes(r.choice([0, 1, 2, 3, 6])) + rex() + prefixes(r.choice([0, 0, 0, 1])) + opcode())
    elif kind == "v":
        code = single(prefixes(r.choice([0, 0, 0, 1])) + (rex() if r.random() < 0.2 else b"") + vector())
    else:
        code = stream()
    code += b"\xcc" * (-len(code) % 16)
    print(f"r{kind}_{seed}_{n:05d},{code.hex()}")
