package ppc64

import "kpsim/smp/arch"

// exclusiveForms are loads that reserve and stores on that condition (Book II, "Load And Reserve and
// Store Conditional Instructions"). The store sets CR0, and its bit Rc is always set.
var exclusiveForms = []form{
	{name: "lbarx", pattern: x(52).free(1), layout: layXE, run: execLoadReserve, size: 1, loads: true, drains: true},
	{name: "lharx", pattern: x(116).free(1), layout: layXE, run: execLoadReserve, size: 2, loads: true, drains: true},
	{name: "lwarx", pattern: x(20).free(1), layout: layXE, run: execLoadReserve, size: 4, loads: true, drains: true},
	{name: "ldarx", pattern: x(84).free(1), layout: layXE, run: execLoadReserve, size: 8, loads: true, drains: true},
	{name: "stbcx.", pattern: x(694).with(0, 1), layout: layX, run: execStoreConditional, size: 1, drains: true},
	{name: "sthcx.", pattern: x(726).with(0, 1), layout: layX, run: execStoreConditional, size: 2, drains: true},
	{name: "stwcx.", pattern: x(150).with(0, 1), layout: layX, run: execStoreConditional, size: 4, drains: true},
	{name: "stdcx.", pattern: x(214).with(0, 1), layout: layX, run: execStoreConditional, size: 8, drains: true},
}

// free says that bits may have any value.
func (p pattern) free(mask word) pattern { return pattern{p.mask &^ mask, p.value} }

// aligned returns where the operand lies. A misaligned one is an alignment interrupt, which nothing
// emulates here: the outcome is Protection.
func (in *Inst) aligned(r *arch.Regs) (at arch.Addr, ok bool) {
	at = arch.Addr(in.sum(r))
	return at, at&arch.Addr(in.size-1) == 0
}

func execLoadReserve(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at, ok := in.aligned(r)
	if !ok {
		return arch.Protection
	}
	v, ok := m.Load(at, int(in.size))
	if !ok {
		return arch.PageFault
	}
	m.(arch.Reserver).Reserve(at, int(in.size))
	return in.put(r, v)
}

// execStoreConditional stores if the reservation is good for these bytes. Where a processor may
// store although the reservation was of other bytes of the same granule, this one doesn't. The
// reservation ends either way, and with a page fault, too. A loop that then tries again is waiting for
// another CPU, so a failure is Relaxed.
func execStoreConditional(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at, ok := in.aligned(r)
	if !ok {
		return arch.Protection
	}
	out, stored := arch.Relaxed, uint64(0)
	if m.(arch.Reserver).Reserved(at, int(in.size)) {
		if !m.Store(at, int(in.size), in.cut(r.R[in.d])) {
			return arch.PageFault
		}
		out, stored = arch.Next, crEQ
	}
	setField(r, shiftCR0, stored|r.Flags>>31&1)
	r.IP = in.next
	return out
}
