package fuzz

import (
	"math/bits"

	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A shown collects the features that a program's runs have shown, as hashes. An event's feature
// is its kind with those arguments that are words or small numbers, never addresses, so that
// programs can be compared. Two successive events on one CPU are a feature, and so are two
// successive events of the engine on different CPUs.
type shown struct {
	cpus  int
	last  [sim.MaxCPUs]uint64 // each CPU's last event
	about []uint64            // for each probe: its kind and the instruction at its place
	list  []uint64            // the features, without duplicates
	table [tableSize]uint64   // hash table of list
}

// tableSize is a power of two. At most three quarters are used; further features of a program
// aren't counted.
const tableSize = 1 << 14

// shownKinds lists the kinds that count: all but those that occur once for each instruction.
var shownKinds = []traces.Kind{
	smpev.Trap, smpev.Claim, smpev.Oops, smpev.Switch, smpev.Serialise, smpev.SendIPI, smpev.Alloc, smpev.Free,
	smpev.Retire,
	smpev.Lock, smpev.Unlock, smpev.MightSleep, smpev.GPStart, smpev.GPEnd, smpev.StopStart, smpev.StopEnd,
	smpev.TextStore, smpev.Fire,
	kpev.ApiEnter, kpev.ApiReturn, kpev.Handler, kpev.Missed, kpev.Skipped, kpev.Arm, kpev.Disarm, kpev.Optimizing,
	kpev.Optimized, kpev.Unoptimizing, kpev.Unoptimized,
	kpev.Sysctl, kpev.Enabled, kpev.Printk, kpev.InstanceNew, kpev.InstanceGet, kpev.InstancePut, kpev.InstanceFree,
	kpev.HolderDrop, kpev.HolderFree, kpev.Hooked, kpev.Trampoline, kpev.RetMissed,
	kpev.JprobeEnter, kpev.JprobeLeave, kpev.Context, kpev.State, kpev.Listed, linuxev.Warn, linuxev.Heap,
	linuxev.Uneven, linuxev.Remains,
}

// begin starts a program.
func (s *shown) begin(sc *scenario.Scenario) {
	s.cpus = sc.Machine.CPUs
	s.list = s.list[:0]
	clear(s.table[:])
	s.about = s.about[:0]
	for i := range sc.Probes {
		p := &sc.Probes[i]
		about := uint64(p.Kind) + 1
		if p.Disabled {
			about |= 8
		}
		if p.Post != nil {
			about |= 16
		}
		s.about = append(s.about, about)
		if t := sc.Text(p.Func); t != nil && p.Offset < len(t.Code) {
			s.add(sim.Mix(about<<32 | opcode(t.Code[p.Offset:])<<4 | 1))
		}
	}
	m := &sc.Machine
	s.add(sim.Mix(uint64(m.Edition)<<16 | uint64(m.Preempt)<<8 | 2))
}

// opcode returns an instruction's first bytes after the prefixes, which distinguish most
// instructions.
func opcode(code []byte) (op uint64) {
	for len(code) > 1 {
		switch code[0] {
		case 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65:
			code = code[1:]
			continue
		}
		if code[0]&0xf0 == 0x40 {
			code = code[1:]
			continue
		}
		break
	}
	op = uint64(code[0])
	if len(code) > 1 && (op == 0x0f || op == 0xff || op == 0xf6 || op == 0xf7) {
		next := uint64(code[1])
		if op != 0x0f {
			next = next >> 3 & 7
		}
		op = op<<8 | next
	}
	return op
}

// run starts a run.
func (s *shown) run() { clear(s.last[:s.cpus]) }

// probe returns the hash of probe number i, for events that name one by number.
func (s *shown) probe(i uint64) uint64 {
	if i < uint64(len(s.about)) {
		return s.about[i]
	}
	return 0
}

// few rounds a number: 0, 1, 2, then its octave.
func few(n uint64) uint64 {
	if n <= 2 {
		return n
	}
	return 1 + uint64(bits.Len64(n))
}

// Event implements traces.Sink.
func (s *shown) Event(e *traces.Event) *traces.Finding {
	what := uint64(e.Kind)
	ours := e.Kind >= traces.KprobesBlock
	a, b, c := uint64(0), uint64(0), uint64(0)
	switch e.Kind {
	case kpev.ApiEnter:
		a, b = e.A, s.probe(e.B)
	case kpev.ApiReturn:
		a, b, c = e.A, s.probe(e.B), e.C
	case kpev.Handler, kpev.Context:
		a, b, c = s.probe(e.A), e.B, 0
		if e.Kind == kpev.Context {
			c = e.C
		}
	case kpev.Missed, kpev.Skipped, kpev.RetMissed, kpev.JprobeEnter, kpev.JprobeLeave:
		a = s.probe(e.A)
	case kpev.Sysctl, kpev.Enabled:
		a, b = e.A, e.B
	case kpev.Printk, smpev.Serialise, smpev.MightSleep, smpev.GPStart, smpev.GPEnd, smpev.Unlock, linuxev.Heap,
		linuxev.Uneven, linuxev.Remains:
		a = e.A
	case smpev.Lock:
		a, b, ours = e.A, e.B, true
	case kpev.InstanceGet:
		b = e.C
	case kpev.HolderDrop:
		a, b = few(e.B), few(e.C)
	case kpev.State, kpev.Listed:
		a, b = e.B, 0
		if e.Kind == kpev.Listed {
			b = e.C
		}
	case smpev.Trap, smpev.Oops, linuxev.Warn:
		a = e.A
		if e.Kind == linuxev.Warn {
			a = e.B
		}
	case smpev.Claim:
		a, b = e.A, e.C
	case smpev.Switch, smpev.TextStore, smpev.Alloc, smpev.Free, smpev.Retire:
		a, ours = e.C, true
	case smpev.SendIPI:
		a = e.B
	}
	s.add(sim.Mix(what<<48 ^ a<<32 ^ b<<16 ^ c))
	if !ours || int(e.CPU) >= s.cpus {
		return nil
	}
	now := what<<8 | a&0xff
	for cpu, before := range s.last[:s.cpus] {
		switch {
		case before == 0:
		case cpu == int(e.CPU):
			s.add(sim.Mix(now | before<<16 | 1<<32))
		case e.Kind >= traces.KprobesBlock:
			s.add(sim.Mix(what | before>>8<<16 | 2<<32))
		}
	}
	s.last[e.CPU] = now
	return nil
}

// add records a feature.
func (s *shown) add(f uint64) {
	if len(s.list) == tableSize*3/4 {
		return
	}
	if f == 0 {
		f = 1
	}
	for at := f; ; at++ {
		slot := &s.table[at%tableSize]
		switch *slot {
		case 0:
			*slot = f
			s.list = append(s.list, f)
			return
		case f:
			return
		}
	}
}
