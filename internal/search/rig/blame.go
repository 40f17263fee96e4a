package rig

import (
	"bytes"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// What is to blame for an instruction that the machine doesn't execute, and for
// a fault that no handler resolves.
//
// Without probes it is the scenario: the twin's run shows it, and is an error of the
// input. With them it is the patching code, and the kernel dies (O1), with one
// exception. An unchanged instruction that the scenario has linked is the scenario's
// own, where it begins: such a run is refused, although the twin has not reached it.
// It may take a branch that the twin doesn't, for a handler or an interrupt has sent
// it there, and that the simulator doesn't know the instruction is no fault of the
// engine. A faithful copy of it, in a slot or a detour, is the same instruction.

// blames reports whether patching code is to blame for what can't be executed at
// an address. code are the bytes there, nil if there is nothing.
func (r *Rig) blames(ip arch.Addr, code []byte) bool {
	if r.twin || !r.Scenario.Patches() {
		return false
	}
	return code == nil || !r.linkedAs(ip, code)
}

// linkedAs reports whether code is what the scenario has linked at an address, or a
// copy of one of its instructions that a probe is on or may replace.
func (r *Rig) linkedAs(ip arch.Addr, code []byte) bool {
	for i := range r.Scenario.Texts {
		t := &r.Scenario.Texts[i]
		if ip >= t.At && ip < t.At+arch.Addr(len(t.Code)) {
			own := t.Code[ip-t.At:]
			n := min(len(own), len(code))
			return bytes.Equal(own[:n], code[:n]) && begins(t, ip)
		}
	}
	for i := range r.Scenario.Probes {
		p := &r.Scenario.Probes[i]
		f, known := r.Scenario.Place(p)
		if !known {
			continue
		}
		t := r.Text(f)
		for off := p.Offset; off < len(t.Code) && off < p.Offset+target.Arch.BranchLen; {
			in, err := target.Decode(t.Code[off:], t.At+arch.Addr(off))
			if err != nil {
				break
			}
			if copied(in, code) {
				return true
			}
			off += in.Size()
		}
	}
	return false
}

// begins reports whether a linked instruction begins at an address of a function:
// after the one before, or where one of the function jumps to, as over a prefix.
func begins(t *scenario.Text, ip arch.Addr) (yes bool) {
	for off := 0; off < len(t.Code); {
		at := t.At + arch.Addr(off)
		yes = yes || at == ip
		in, err := target.Decode(t.Code[off:], at)
		if err != nil {
			break
		}
		if to, ok := in.Target(); ok && to == ip {
			return true
		}
		off += in.Size()
	}
	return yes
}

// copied reports whether code begins with a copy of an instruction: the same bytes,
// but for the displacement of what is relative to it.
func copied(in arch.Inst, code []byte) bool {
	own := in.Bytes()
	if len(code) < len(own) {
		return false
	}
	from, to, relative := in.IPRelative()
	for k := range own {
		if own[k] != code[k] && !(relative && k >= from && k < to) {
			return false
		}
	}
	return true
}

// codeAt returns the bytes at an address as the newest stores left them, nil if no
// memory is there.
func (r *Rig) codeAt(ip arch.Addr) []byte {
	b := make([]byte, target.Arch.MaxLen)
	if n := r.Machine.Inspect().BytesAt(ip, b); n > 0 {
		return b[:n]
	}
	return nil
}
