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

// shown is what the runs of a program have shown, as hashes: features. An event is one by
// its kind and by those of its arguments that are words or small numbers, never addresses:
// so programs can be compared. Two events that come one after the other on a CPU are one,
// and so are two of the engine's on different CPUs: those come in one order or the other.
type shown struct {
	cpus  int
	last  [sim.MaxCPUs]uint64 // what each CPU has shown last
	about []uint64            // of each probe: what it is, and the instruction it is at
	list  []uint64            // the features, each once
	table [tableSize]uint64   // the same by their hashes
}

// tableSize is a power of two, of which at most three quarters are used: what a program
// shows beyond that isn't counted.
const tableSize = 1 << 14

// shownKinds are the kinds that are looked at: not those of which there is one for each
// instruction.
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

// begin begins with a program.
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

// opcode returns an instruction's first bytes, without prefixes: what tells most
// instructions from each other.
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

// run begins with a run.
func (s *shown) run() { clear(s.last[:s.cpus]) }

// probe is what a probe is, for events that name one by its number.
func (s *shown) probe(i uint64) uint64 {
	if i < uint64(len(s.about)) {
		return s.about[i]
	}
	return 0
}

// few is a number as far as it matters: 0, 1, 2, and its octave.
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

// add notes a feature.
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
