#!/usr/bin/env python3
"""Prints one-instruction functions that sweep encodings, as name,hexbytes.

usage: sweep_functions.py KIND...

KIND is one of
  op      one-byte and 0f opcodes, the prefixes, forms of ModRM; every member of a group
  rex2    d5, payload, opcode, and neighbours of d5
  evex    maps 0 to 7, every opcode, pp, W
  vex     three-byte maps 0 to 31, two-byte, every opcode
  prefix  mandatory prefixes in pairs, REX before a prefix, 66, 67 and REX.W
  f3      f3 before every 0f 38 and 0f 3a, f2 and f3 before 0f d6
  long    instructions of 13 to 16 bytes, forced-emulation prefixes
Each function is 32 bytes: the encoding, nops, ret at 20, int3. Offset 0 is the one to be probed.
"""
import sys


def say(name, code):
    code = bytes(code)[:20]
    code += b"\x90" * (20 - len(code)) + b"\xc3"
    print(f"{name},{(code + bytes([0xcc] * 11)).hex()}")


FORMS = (("c1", 0xc1), ("05", 0x05))


def op():
    tails = (("c1", [0xc1]), ("05", [0x05]), ("44", [0x44, 0x24, 0x08]), ("86", [0x86]))
    for p in ([], [0x66], [0x67], [0x2e], [0xf3], [0xf2], [0xf0], [0x65], [0x66, 0x67]):
        tag = "".join(f"{b:02x}" for b in p)
        for op in range(256):
            for form, tail in tails if len(p) < 2 and p not in ([0xf2], [0xf0], [0x65]) else tails[:2]:
                say(f"o1_{tag}_{op:02x}_{form}", [*p, op, *tail])
                say(f"o2_{tag}_{op:02x}_{form}", [*p, 0x0f, op, *tail])
        for group in ([0x80], [0x81], [0x82], [0x83], [0x8c], [0x8e], [0x8f], [0xc0], [0xc1], [0xc6], [0xc7], [0xd0], [0xd1], [0xd2], [0xd3], [0xf6], [0xf7], [0xfe], [0xff],
                      [0x0f, 0x00], [0x0f, 0x01], [0x0f, 0x71], [0x0f, 0x72], [0x0f, 0x73], [0x0f, 0xae], [0x0f, 0xba], [0x0f, 0xc7], [0x0f, 0x1e]):
            name = "".join(f"{b:02x}" for b in group)
            for reg in range(8):
                for mod in (0xc1, 0x01, 0x42):
                    say(f"og_{tag}_{name}_{mod | reg << 3:02x}", [*p, *group, mod | reg << 3])


def rex2():
    for payload in (0x00, 0x08, 0x80, 0x88, 0x7f, 0xff):
        for op in range(256):
            for form, modrm in FORMS:
                say(f"x2_{payload:02x}_{op:02x}_{form}", [0xd5, payload, op, modrm])
    for op in range(256):
        for before in (0x66, 0xf2, 0xf3, 0x67, 0x2e, 0xf0, 0x48):
            for payload in (0x00, 0x80):
                say(f"x2p_{before:02x}_{payload:02x}_{op:02x}", [before, 0xd5, payload, op, 0xc1])
        say(f"x2r_48_{op:02x}", [0xd5, 0x00, 0x48, op, 0xc1])
        say(f"x2r_66_{op:02x}", [0xd5, 0x00, 0x66, op, 0xc1])
        say(f"x2_f7_{op:02x}", [0xd5, 0x08, 0xf7, op])
        say(f"x2_ff_{op:02x}", [0xd5, 0x00, 0xff, op])


def evex():
    for m in range(8):
        for pp in range(4):
            for w in (0, 1):
                for op in range(256):
                    for length in (0x48,) if pp or w else (0x48, 0x18):
                        say(f"em{m}_{pp}_{w}_{length:02x}_{op:02x}", [0x62, 0xf0 | m, 0x7c | pp | w << 7, length, op, 0xc1])
    for m in (1, 2, 3, 5):
        for pp in range(4):
            for op in range(256):
                say(f"em{m}_{pp}_m_{op:02x}", [0x62, 0xf0 | m, 0x7c | pp, 0x48, op, 0x05])


def vex():
    for m in range(32):
        for pp in range(4) if 1 <= m <= 3 else (0, 1):
            for op in range(256) if m < 8 else range(1, 256, 9):
                say(f"vm{m}_{pp}_{op:02x}", [0xc4, 0xe0 | m, 0x78 | pp, op, 0xc1])
                if 1 <= m <= 3:
                    for w, l in ((1, 0), (0, 1), (1, 1)):
                        say(f"vm{m}_{pp}_{w}{l}_{op:02x}", [0xc4, 0xe0 | m, 0x78 | pp | w << 7 | l << 2, op, 0xc1])
                    say(f"vm{m}_{pp}_m_{op:02x}", [0xc4, 0xe0 | m, 0x78 | pp, op, 0x05])
    for pp in range(4):
        for op in range(256):
            for form, modrm in FORMS:
                say(f"vt_{pp}_{op:02x}_{form}", [0xc5, 0xf8 | pp, op, modrm])


def prefix():
    pairs = [(0x66, 0xf2), (0xf2, 0x66), (0xf3, 0x66), (0x66, 0xf3), (0xf2, 0xf3), (0xf3, 0xf2), (0x66, 0x2e), (0x2e, 0x66), (0x66, 0x66, 0xf3), (0xf3, 0xf2, 0x66), (0x66, 0xf2, 0xf3)]
    for ps in pairs:
        tag = "".join(f"{p:02x}" for p in ps)
        for name, head in (("2", [0x0f]), ("38", [0x0f, 0x38]), ("3a", [0x0f, 0x3a])):
            for op in range(256):
                say(f"pp{name}_{tag}_{op:02x}", [*ps, *head, op, 0xc1])
    for op in range(256):
        for name, head in (("w", [0x48]), ("66", [0x66]), ("67", [0x67]), ("6667", [0x66, 0x67]), ("66w", [0x66, 0x48]), ("67w", [0x67, 0x48]), ("w66", [0x48, 0x66]), ("wf3", [0x48, 0xf3]), ("w67", [0x48, 0x67]),
                           ("six", [0x66, 0x67, 0xf2, 0x2e, 0x65, 0xf0]), ("five", [0x66, 0x67, 0xf3, 0x2e, 0xf0]), ("ww", [0x40, 0x48])):
            say(f"p1{name}_{op:02x}", [*head, op, 0x05])
            say(f"p2{name}_{op:02x}", [*head, 0x0f, op, 0x05])


def f3():
    for form, modrm in FORMS:
        for op in range(256):
            say(f"w9_38_f3_{op:02x}_{form}", [0xf3, 0x0f, 0x38, op, modrm])
            say(f"w9_3a_f3_{op:02x}_{form}", [0xf3, 0x0f, 0x3a, op, modrm])
        for p in (0xf2, 0xf3):
            say(f"w9_0f_d6_{p:02x}_{form}", [p, 0x0f, 0xd6, modrm])


def long():
    shapes = {
        "add_sib32": [0x01, 0x84, 0x08, 1, 2, 3, 4], "mov_imm64": [0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], "movabs": [0xa1, 1, 2, 3, 4, 5, 6, 7, 8],
        "cmp_imm32": [0x81, 0xbc, 0x08, 1, 2, 3, 4, 5, 6, 7, 8], "rip_imm32": [0xc7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8], "rip_imm8": [0x80, 0x3d, 1, 2, 3, 4, 5],
        "nop": [0x90], "nopl": [0x0f, 0x1f, 0x44, 0x00, 0x00], "push": [0x68, 1, 2, 3, 4], "jmp": [0xe9, 0, 0, 0, 0], "jcc": [0x0f, 0x84, 0, 0, 0, 0],
        "vex": [0xc4, 0xe2, 0x7d, 0x58, 0x05, 1, 2, 3, 4], "pshufb": [0x0f, 0x38, 0x00, 0xc1], "palignr": [0x0f, 0x3a, 0x0f, 0xc1, 0x05], "enter": [0xc8, 1, 2, 3],
    }
    for name, body in shapes.items():
        for p in (0x66, 0x2e, 0xf3, 0x67):
            for n in range(0, 17):
                say(f"len_{name}_{p:02x}_{n}", [p] * n + body)
        for n in range(0, 15):
            say(f"len_{name}_mix_{n}", [(0x66, 0x2e, 0xf3, 0x67, 0x65)[i % 5] for i in range(n)] + body)
    ud2, xen, kvm = [0x0f, 0x0b], [0x78, 0x65, 0x6e], [0x6b, 0x76, 0x6d]
    for name, code in {
        "xen_cpuid": ud2 + xen + [0x0f, 0xa2], "kvm_cpuid": ud2 + kvm + [0x0f, 0xa2], "xen_nop": ud2 + xen + [0x90], "kvm_nop": ud2 + kvm + [0x90],
        "xen_cut1": ud2 + xen[:1] + [0x90], "xen_cut2": ud2 + xen[:2] + [0x90], "kvm_cut2": ud2 + kvm[:2] + [0x90], "xen_twice": ud2 + xen + ud2 + xen + [0x0f, 0xa2],
        "kvm_66": ud2 + kvm + [0x66, 0x01, 0xc1], "xen_66before": [0x66] + ud2 + xen + [0x0f, 0xa2], "kvm_vex": ud2 + kvm + [0xc5, 0xf9, 0x6f, 0xc1], "kvm_mov": ud2 + kvm + [0x8b, 0x05, 1, 2, 3, 4],
        "kvm_jmp": ud2 + kvm + [0xeb, 0x00], "kvm_bad": ud2 + kvm + [0x06], "kvm_int3": ud2 + kvm + [0xcc], "kvm_long": ud2 + kvm + [0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8],
    }.items():
        say(f"emu_{name}", code)


for kind in sys.argv[1:]:
    {"op": op, "rex2": rex2, "evex": evex, "vex": vex, "prefix": prefix, "f3": f3, "long": long}[kind]()
