package closure

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

// A walk computes a closure.
type walk struct {
	c       *Closure
	seen    map[uint64]bool // functions that were queued
	queue   []Function
	callees map[uint64]*Callee
	sets    map[string]*member // the sets of queued functions

	beyond func(s vmlinux.Symbol) bool // the callees that are walked, too; nil: none
	most   int                         // how many functions are walked; 0: all
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
	for len(w.queue) > 0 && (w.most == 0 || len(c.Inside) < w.most) {
		f := w.queue[0]
		w.queue = w.queue[1:]
		if w.replaced(&f) {
			continue
		}
		w.trim(&f)
		c.decode(&f, func(in arch.Inst, taken uint64) { w.instruction(&f, in, taken) })
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
	to, ok := w.c.Image.Layer().Replacement(f.Addr)
	return ok && w.enter(to, f.From)
}

func bySite(a, b Site) int { return cmp.Compare(a.Addr, b.Addr) }

// trim counts a function's instructions and cuts off padding, since a vmlinuz doesn't say where a
// function ends.
func (w *walk) trim(f *Function) {
	code := w.c.Image.Bytes(f.Addr, f.Size)
	off, end, n, last := uint64(0), uint64(0), 0, 0
	for off < uint64(len(code)) {
		in, err := w.c.Image.Decode(code[off:], f.Addr+off)
		if err != nil && len(bytes.TrimLeft(code[off:], "\x00")) == 0 {
			break // zeros fill gaps
		}
		if err != nil {
			s := w.site(f, f.Addr+off, "undecodable")
			s.Refused = true
			w.c.Special = append(w.c.Special, s)
			break
		}
		off += uint64(in.Size())
		off += uint64(w.c.tableAfter(in, code[off:]))
		if c := w.c.code; c.fills && in.Flow() == arch.FlowBreakpoint { // they follow returns, and fill gaps
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
func (w *walk) instruction(f *Function, in arch.Inst, taken uint64) {
	c := w.c
	addr := uint64(in.At())
	switch in.Flow() {
	case arch.FlowCall, arch.FlowJump, arch.FlowCond, arch.FlowLoop:
		s, kind := c.Target(f, in)
		switch kind {
		case Inner:
			w.enter(s.Addr, f.Name)
		case Outer:
			if w.beyond != nil && w.beyond(s) {
				w.take(s)
				return
			}
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
	if taken != 0 && !w.seen[taken] {
		if s, ok := c.Image.Lookup(taken); ok && s.Addr == taken {
			w.enter(taken, f.Name)
		}
	}
	if unsupported(in) || c.code.special(in) {
		mnemonic, _, _ := strings.Cut(in.String(), " ")
		s := w.site(f, addr, mnemonic)
		s.Refused = unsupported(in)
		c.Special = append(c.Special, s)
	}
}
