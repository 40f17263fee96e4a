package x86

import "kpsim/smp/arch"

// Segments are flat but for fs and gs, whose bases are added, and in 32-bit mode
// for cs, which can't be written. An instruction with such an override is
// executed with a memory that sees to that; what isn't addressed through the
// override (the stack, the destination of a string instruction) goes through
// plain.

// overriding is memory behind an override.
type overriding struct {
	memory arch.Memory
	base   uint64
	mask   uint64 // of linear addresses
	code   bool   // cs
	denied bool   // and something was to be stored
}

// linear returns where in memory an access to a goes.
func (o *overriding) linear(a arch.Addr) arch.Addr { return arch.Addr((uint64(a) + o.base) & o.mask) }

// Load implements arch.Memory.
func (o *overriding) Load(a arch.Addr, size int) (uint64, bool) {
	return o.memory.Load(o.linear(a), size)
}

// Store implements arch.Memory.
func (o *overriding) Store(a arch.Addr, size int, v uint64) bool {
	if o.code {
		o.denied = true
		return false
	}
	return o.memory.Store(o.linear(a), size, v)
}

// System implements systemic.
func (o *overriding) System() *System { return system(o.memory) }

// linear returns where in m an access to a goes.
func linear(m arch.Memory, a arch.Addr) arch.Addr {
	if o, ok := m.(*overriding); ok {
		return o.linear(a)
	}
	return a
}

// plain returns memory without an override.
func plain(m arch.Memory) arch.Memory {
	if o, ok := m.(*overriding); ok {
		return o.memory
	}
	return m
}

// execOverride executes in.inner behind the override of in.segment. A store to
// code is #GP (SDM vol. 3, "Type Checking").
func execOverride(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	y.over = overriding{memory: m, mask: in.linear}
	switch in.segment {
	case segmentCS:
		y.over.code = true
	case segmentFS:
		y.over.base = y.FSBase
	default:
		y.over.base = y.GSBase
	}
	out := in.inner(in, s, &y.over)
	if y.over.denied {
		return arch.Protection
	}
	return out
}

// The prefixes of overrides that matter.
const (
	segmentCS = 0x2e
	segmentFS = 0x64
)

// override returns the prefix of an override that matters: of several the last
// counts, and in 64-bit mode those of fs and gs only. A VEX prefix that looks
// like one has L set: no such instruction is executed.
func (in *Inst) override(l *layout) (prefix uint8) {
	if l.mode == Mode64 {
		return l.segment
	}
	for _, b := range in.raw[:l.opPos] {
		switch b {
		case segmentCS, segmentFS, 0x65:
			prefix = b
		case 0x26, 0x36, 0x3e:
			prefix = 0
		}
	}
	return prefix
}

// usesSegment reports whether an override matters: the operand is memory, or it
// is implicit (SDM vol. 1, 3.4.4 and vol. 2, chapter 2.1.1). lea and prefetches,
// which don't go there, don't mind one either.
func (in *Inst) usesSegment(l *layout) bool {
	switch op := l.op; {
	case l.encoding != legacy, l.space != map1:
	case op >= 0xa0 && op <= 0xa7, op == 0xac, op == 0xad, op == 0xd7, op == 0x6e, op == 0x6f:
		return true
	}
	return in.mem
}
