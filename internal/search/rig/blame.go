package rig

import (
	"bytes"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// The rules below decide what is to blame for an instruction that the machine doesn't execute,
// and for a fault that no handler resolves.
//
// Without probes the scenario is to blame: the twin's run shows it, and it is an error of the
// input. With probes the patching code is to blame, and the kernel dies (O1). There is one
// exception: an unchanged instruction that the scenario has linked, at the address where it
// begins, is the scenario's own. The run is then refused, although the twin has not reached
// the instruction. The run may take a branch that the twin doesn't, because a handler or an
// interrupt has sent it there. It is no fault of the engine that the simulator doesn't know
// the instruction. A faithful copy of the instruction, in a slot or a detour, counts as the
// same instruction.

// blames reports whether patching code is to blame for an instruction that can't be executed.
// code holds the bytes at ip; nil means that no memory is there.
func (p *Plan) blames(ip arch.Addr, code []byte) bool {
	if p.twin || !p.Scenario.Patches() {
		return false
	}
	return code == nil || !p.linkedAs(ip, code)
}

// linkedAs reports whether code is what the scenario has linked at ip, or a copy of a linked
// instruction that has a probe or may be replaced by one.
func (p *Plan) linkedAs(ip arch.Addr, code []byte) bool {
	for i := range p.Scenario.Texts {
		t := &p.Scenario.Texts[i]
		if ip >= t.At && ip < t.At+arch.Addr(len(t.Code)) {
			own := t.Code[ip-t.At:]
			n := min(len(own), len(code))
			return bytes.Equal(own[:n], code[:n]) && p.begins(t, ip)
		}
	}
	for i := range p.Scenario.Probes {
		probe := &p.Scenario.Probes[i]
		f, known := p.Scenario.Place(probe)
		if !known {
			continue
		}
		t := p.Text(f)
		for off := probe.Offset; off < len(t.Code) && off < probe.Offset+p.arch.BranchLen; {
			in, err := p.arch.Decode(t.Code[off:], t.At+arch.Addr(off))
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

// begins reports whether a linked instruction begins at an address of a function: after the
// previous instruction, or at the target of a jump in the function, such as a jump over a
// prefix.
func (p *Plan) begins(t *scenario.Text, ip arch.Addr) (yes bool) {
	for off := 0; off < len(t.Code); {
		at := t.At + arch.Addr(off)
		yes = yes || at == ip
		in, err := p.arch.Decode(t.Code[off:], at)
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

// copied reports whether code begins with a copy of an instruction: the same bytes, except for
// an IP-relative displacement.
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
func (p *Plan) codeAt(ip arch.Addr) []byte {
	b := make([]byte, p.arch.MaxLen)
	if n := p.Machine.Inspect().BytesAt(ip, b); n > 0 {
		return b[:n]
	}
	return nil
}
