package closure

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A walk computes a closure.
type walk struct {
	c       *Closure
	seen    map[uint64]bool // functions that were queued
	queue   []Function
	callees map[uint64]*Callee
	sets    map[string]*member // the sets of queued functions
}

// enter queues the function at an address if a set has it, and reports whether one does.
func (w *walk) enter(addr uint64, from string) bool {
	s, ok := w.c.Image.Lookup(addr)
	if !ok || !s.Func {
		return false
	}
	s, m := w.c.at(s)
	if m == nil {
		return false
	}
	if !w.seen[s.Addr] {
		w.seen[s.Addr] = true
		if m.set == "" && w.sets[from] != nil { // added by an edit
			m = w.sets[from]
		}
		w.sets[s.Name] = m
		w.queue = append(w.queue, Function{Name: s.Name, Set: m.set, File: m.file, Addr: s.Addr,
			Size: min(s.Size, mostFunction), From: from})
	}
	return true
}

func (w *walk) run() {
	c := w.c
	for len(w.queue) > 0 {
		f := w.queue[0]
		w.queue = w.queue[1:]
		if w.replaced(&f) {
			continue
		}
		w.trim(&f)
		c.Decode(&f, func(in *x86.Inst) { w.instruction(&f, in) })
		c.Inside = append(c.Inside, f)
	}
	slices.SortFunc(c.Inside, func(a, b Function) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, callee := range w.callees {
		slices.SortFunc(callee.Callers, bySite)
		c.Boundary = append(c.Boundary, *callee)
	}
	slices.SortFunc(c.Boundary, func(a, b Callee) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Addr, b.Addr))
	})
	slices.SortFunc(c.Special, func(a, b Site) int { return cmp.Or(strings.Compare(a.Text, b.Text), bySite(a, b)) })
	slices.SortFunc(c.Indirect, bySite)
}

// replaced reports whether a function is only a jump to another of its name in objects laid over
// the kernel. That one is walked.
func (w *walk) replaced(f *Function) bool {
	in, err := w.c.Image.Decode(w.c.Image.Bytes(f.Addr, f.Size), f.Addr)
	if err != nil || in.Flow() != arch.FlowJump {
		return false
	}
	s, kind := w.c.Target(f, &in)
	return kind == Inner && s.Name == f.Name && s.Addr != f.Addr && w.enter(s.Addr, f.From)
}

func bySite(a, b Site) int { return cmp.Compare(a.Addr, b.Addr) }

// trim counts a function's instructions and cuts off padding, since a vmlinuz doesn't say where a
// function ends.
func (w *walk) trim(f *Function) {
	code := w.c.Image.Bytes(f.Addr, f.Size)
	off, end, n, last := uint64(0), uint64(0), 0, 0
	for off < uint64(len(code)) {
		in, err := w.c.Image.Decode(code[off:], f.Addr+off)
		if err != nil {
			s := w.site(f, f.Addr+off, "undecodable")
			s.Refused = true
			w.c.Special = append(w.c.Special, s)
			break
		}
		off += uint64(in.Len)
		if in.Flow() == arch.FlowBreakpoint { // int3s follow returns, and fill gaps
			continue
		}
		if n++; !in.IsNop() {
			end, last = off, n
		}
	}
	f.Size, f.Insns = end, last
}

func (w *walk) site(f *Function, addr uint64, text string) Site {
	return Site{Func: f.Name, Off: addr - f.Addr, Addr: addr, Text: text}
}

// instruction records what one instruction contributes to the closure.
func (w *walk) instruction(f *Function, in *x86.Inst) {
	c := w.c
	addr := uint64(in.Addr)
	switch in.Flow() {
	case arch.FlowCall, arch.FlowJump, arch.FlowCond, arch.FlowLoop:
		s, kind := c.Target(f, in)
		switch kind {
		case Inner:
			w.enter(s.Addr, f.Name)
		case Outer:
			callee := w.callees[s.Addr]
			if callee == nil {
				callee = &Callee{Name: s.Name, Addr: s.Addr}
				w.callees[s.Addr] = callee
			}
			callee.Callers = append(callee.Callers, w.site(f, addr, ""))
		case Pointer:
			c.Indirect = append(c.Indirect, w.site(f, addr, s.Name))
		case Nowhere:
			c.Special = append(c.Special, w.site(f, addr, "jump to no function"))
		}
		return
	case arch.FlowIndirectCall, arch.FlowIndirectJump:
		if _, ok := c.Paravirtual(in); ok {
			c.Paravirt++
			return
		}
		c.Indirect = append(c.Indirect, w.site(f, addr, in.String()))
		return
	}
	if at, ok := c.taken(in); ok && !w.seen[at] {
		if s, ok := c.Image.Lookup(at); ok && s.Addr == at {
			w.enter(at, f.Name)
		}
	}
	if special(in) {
		mnemonic, _, _ := strings.Cut(in.String(), " ")
		s := w.site(f, addr, mnemonic)
		s.Refused = in.Unsupported()
		c.Special = append(c.Special, s)
	}
}

// Paravirtual returns the name of the operation that an instruction calls through pv_ops:
// "pv_ops.irq.irq_disable".
func (c *Closure) Paravirtual(in *x86.Inst) (name string, ok bool) {
	pv, ok := c.Image.Symbol("pv_ops")
	if !ok || in.Flow() != arch.FlowIndirectCall && in.Flow() != arch.FlowIndirectJump {
		return "", false
	}
	at, ok := c.operand(in)
	if !ok || at < pv.Addr || at >= pv.Addr+pv.Size {
		return "", false
	}
	off := int(at - pv.Addr)
	member, ok := c.Image.Types().Member("paravirt_patch_template", off)
	if !ok {
		member = fmt.Sprintf("%#x", off)
	}
	member = strings.TrimSuffix(strings.TrimSuffix(member, ".func"), "[0]")
	return "pv_ops." + member, true
}

// operand returns the address of a memory operand without registers.
func (c *Closure) operand(in *x86.Inst) (uint64, bool) {
	if at, ok := in.RIPOperand(); ok {
		return uint64(at), true
	}
	if _, ok := in.ModRM(); !ok || len(in.AddressRegs()) > 0 {
		return 0, false
	}
	disp, _ := in.DispAndImm()
	return c.number(in, disp)
}

// taken returns the address that an instruction may take: an immediate, or lea's operand.
func (c *Closure) taken(in *x86.Inst) (uint64, bool) {
	if in.Opcode() == 0x8d {
		return c.operand(in)
	}
	_, imm := in.DispAndImm()
	return c.number(in, imm)
}

// number reads four bytes, sign-extended, or eight, at positions [from, to).
func (c *Closure) number(in *x86.Inst, at [2]int) (uint64, bool) {
	raw := in.Raw()
	switch b := raw[at[0]:at[1]]; len(b) {
	case 4:
		return c.Image.Number(int32(binary.LittleEndian.Uint32(b))), true
	case 8:
		return binary.LittleEndian.Uint64(b), true
	}
	return 0, false
}

// special reports whether an instruction concerns the machine: it halts, changes the interrupt
// flag or a system register, or does I/O; or whether the simulator doesn't execute it.
func special(in *x86.Inst) bool {
	if in.Unsupported() || in.WritesIF() || in.Flow() == arch.FlowUndefined || in.Flow() == arch.FlowOther ||
		in.Flow() == arch.FlowHalt || in.Flow() == arch.FlowTrapReturn {
		return true
	}
	switch op := in.Opcode(); {
	case op == 0x90: // pause
		return in.Prefixes()&x86.PrefixRep != 0
	case op == 0x9c: // pushf
		return true
	case op >= 0xe4 && op <= 0xe7, op >= 0xec && op <= 0xef, op >= 0x6c && op <= 0x6f: // in, out
		return in.Encoding() == x86.Legacy
	// system registers
	case op == 0x0f00, op == 0x0f01, op >= 0x0f20 && op <= 0x0f23, op >= 0x0f30 && op <= 0x0f33, op == 0x0fa2:
		return true
	}
	return false
}
