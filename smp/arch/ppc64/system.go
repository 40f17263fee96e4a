package ppc64

import "kpsim/smp/arch"

// systemForms are barriers, cache management (Book II, "Memory Barrier Instructions", "Storage Control
// Instructions") and what accesses special registers and MSR (Book III, "Move To/From System Register
// Instructions").
var systemForms = []form{
	{name: "isync", pattern: xl(150).zero(0x7fff << 11), layout: layNone, run: execSerialize},
	{name: "sync", pattern: x(598).zero(3<<24 | fieldA | fieldB), layout: laySync, run: execNothing, drains: true},
	{name: "eieio", pattern: x(854).zero(fieldT | fieldA | fieldB), layout: layNone, run: execNothing, drains: true},
	{name: "wait", pattern: x(30).zero(7<<23 | fieldA | fieldB), layout: layWait, run: execRelax},

	{name: "dcbf", pattern: x(86).zero(3 << 24), layout: layFlush, run: execTouch},
	{name: "dcbst", pattern: x(54).zero(fieldT), layout: layBlock, run: execTouch},
	{name: "icbi", pattern: x(982).zero(fieldT), layout: layBlock, run: execTouch},
	{name: "dcbz", pattern: x(1014).zero(fieldT), layout: layBlock, run: execZero},
	{name: "dcbt", pattern: x(278), layout: layHint, run: execNothing},
	{name: "dcbtst", pattern: x(246), layout: layHint, run: execNothing},

	{name: "mfspr", pattern: x(339), layout: layFromSPR, run: execFromSPR},
	{name: "mftb", pattern: x(371), layout: layFromTB, run: execFromSPR},
	{name: "mtspr", pattern: x(467), layout: layToSPR, run: execToSPR},
	{name: "mfmsr", pattern: x(83).zero(fieldA | fieldB), layout: layFromMSR, run: execFromMSR},
	{name: "mtmsr", pattern: x(146).zero(fieldA&^(1<<16) | fieldB), layout: layToMSR, run: execToMSR},
	{name: "mtmsrd", pattern: x(178).zero(fieldA&^(1<<16) | fieldB), layout: layToMSR, run: execToMSR},
}

// execRefused is of what exists and isn't executed. Inst.String names it.
func execRefused(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome { return arch.Unsupported }

// execNothing is of barriers, for data accesses are done at once and Op.Drains says the rest, and of
// hints.
func execNothing(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Next
}

// execSerialize is isync, which is context synchronizing (Book II, "Instruction Synchronize").
func execSerialize(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Serialized
}

func execRelax(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Relaxed
}

func execHalt(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = of(op).next
	return arch.Halt
}

// Values of L of sync: hwsync, lwsync, ptesync, and phwsync and plwsync of persistent storage.
// The others are reserved.
var laySync = layout{func(in *Inst) error {
	switch in.word >> 21 & 7 {
	case 0, 1, 2, 4, 5:
		return nil
	}
	return ErrInvalid
}, "y,0"}

// layWait is of wait. WC is 0 to wait for an interrupt, 1 for the end of the reservation, which may have
// come, and 2 for a short time (Book II, "Wait Instruction").
var layWait = layout{func(in *Inst) error {
	switch in.word >> 21 & 3 {
	case 0:
		in.Run, in.flow = execHalt, arch.FlowHalt
	case 3:
		return ErrInvalid
	}
	return nil
}, "W,0"}

// BlockSize is how many bytes of cache are managed at once.
const BlockSize = 128

// execTouch is of cache management. Caches are coherent, so it faults as a load does and does nothing
// else: other CPUs see a store to text when a fetch model says so.
func execTouch(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	if _, ok := m.Load(arch.Addr(in.sum(r)), 1); !ok {
		return arch.PageFault
	}
	r.IP = in.next
	return arch.Next
}

// execZero zeroes a block. It lies in one page, so only its first store can fault.
func execZero(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at := arch.Addr(in.sum(r)) &^ (BlockSize - 1)
	for i := arch.Addr(0); i < BlockSize; i += 8 {
		if !m.Store(at+i, 8, 0) {
			return arch.PageFault
		}
	}
	r.IP = in.next
	return arch.Next
}

// numberSPR returns the number of a special register, whose two halves are swapped.
func (w word) numberSPR() uint16 { return uint16(w>>16&31 | w>>6&(31<<5)) }

var (
	layFromSPR = by("t,r", func(in *Inst) { in.d = in.word.fieldT(); in.setSPR(false) })
	layFromTB  = by("t,r", func(in *Inst) {
		in.d = in.word.fieldT()
		if n := in.word.numberSPR(); n != sprTB && n != sprTBU {
			in.refuse()
			return
		}
		in.setSPR(false)
	})
	layToSPR   = by("r,t", func(in *Inst) { in.a = in.word.fieldT(); in.setSPR(true) })
	layFromMSR = by("t", func(in *Inst) { in.d = in.word.fieldT() })
	layToMSR   = by("t,x", func(in *Inst) { in.a = in.word.fieldT() })
)

// setSPR finds the special register, or refuses the instruction. LR and CTR are general registers here.
func (in *Inst) setSPR(write bool) {
	n := in.word.numberSPR()
	reg := map[uint16]arch.Reg{sprLR: LR, sprCTR: CTR}[n]
	switch {
	case reg != 0 && write:
		in.d, in.Run = uint8(reg), execMove
		return
	case reg != 0:
		in.a, in.Run = uint8(reg), execMove
		return
	}
	for i := range sprs {
		s := &sprs[i]
		if s.number == n && (s.write != nil || !write) && (s.read != nil || write) {
			in.spr = s
			return
		}
	}
	in.refuse()
}

func execMove(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, r.R[in.a])
}

func execFromSPR(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, in.spr.read(r, m))
}

func execToSPR(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	in.spr.write(r, m, r.R[in.a])
	r.IP = in.next
	return arch.Next
}

func execFromMSR(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.put(r, MSR(r.Flags))
}

// execToMSR is mtmsr and mtmsrd. With L only EE and RI change, and the instruction doesn't synchronize
// context. Without, mtmsr leaves the upper half, neither changes ME and LE, and a change of what is
// always set here is refused. An outcome that says that interrupts may have changed leaves out that the
// CPU serialises: its fetches may be older than a processor's.
func execToMSR(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	const light, word = msrEE | msrRI, 1<<32 - 1
	was, v := MSR(r.Flags), r.R[in.a]
	out := arch.Serialized
	switch {
	case in.word>>16&1 != 0:
		v, out = was&^light|v&light, arch.Next
	case in.word>>1&0x3ff == 146:
		v = was&^uint64(word) | v&word
	}
	changes := (was ^ v) &^ (msrME | msrLE)
	if changes&^msrVaries != 0 {
		return arch.Unsupported
	}
	r.Flags = withMSR(r.Flags, v)
	r.IP = in.next
	if changes&msrEE != 0 {
		return arch.Interrupts
	}
	return out
}
