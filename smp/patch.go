package smp

import (
	"encoding/binary"
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A Patcher is a context as it reads and writes text, as data.
type Patcher Ctx

// Text returns the context for reading and writing text.
func (x *Ctx) Text() *Patcher { return (*Patcher)(x) }

// yield is the yield point before an access to text, observed or not. The touch is
// recorded with the access, because text that is read may not be watched.
func (p *Patcher) yield(a arch.Addr, write bool) {
	x := (*Ctx)(p)
	if x.m.foot == nil {
		x.yield()
		return
	}
	if write || x.m.foot.stored(a) {
		x.ahead = sim.Touch{Object: object(objChunk, bytesNumber(a)), Write: write}
	}
	x.yield()
	x.ahead = sim.Touch{}
}

// Read copies the newest bytes at a into b, as data.
func (p *Patcher) Read(a arch.Addr, b []byte) int {
	p.yield(a, false)
	p.m.foot.touchFetch(a, len(b))
	return p.m.mem.peek(a, b, PermRead)
}

// Write stores b to text as memcpy does, in stores of the largest power of two that
// fits. No store crosses an aligned 8-byte chunk, and each has a yield point before it. Five
// bytes are two stores. No CPU is serialised. Where kernels copy by aligned stores only
// (arch.Arch.Aligned), four bytes at an odd multiple of two are two stores.
func (p *Patcher) Write(a arch.Addr, b []byte) {
	for len(b) > 0 {
		n := 1 << (bits.Len(uint(min(len(b), int(chunk-a%chunk)))) - 1)
		if p.m.arch.Aligned && a%chunk != 0 {
			n = min(n, int(a&-a))
		}
		p.yield(a, true)
		p.m.text.store(p.cpu, a, little(b[:n]), n)
		a, b = a+arch.Addr(n), b[n:]
	}
}

// Fill stores b to text that no CPU can be in, in one step.
func (p *Patcher) Fill(a arch.Addr, b []byte) {
	p.yield(a, true)
	for len(b) > 0 {
		n := min(len(b), int(chunk-a%chunk))
		p.m.text.store(p.cpu, a, little(b[:n]), n)
		a, b = a+arch.Addr(n), b[n:]
	}
}

// Swap stores a byte to text and returns the old byte, in one step, if the condition may
// holds in that step. ok false: it doesn't hold, and nothing is stored. No CPU is serialised.
func (p *Patcher) Swap(a arch.Addr, b byte, may kapi.Cond) (was byte, ok bool) {
	p.yield(a, true)
	(*Ctx)(p).Mark(may.Cell(), kapi.Read)
	var now [1]byte
	p.m.foot.touchFetch(a, len(now))
	if !may.Holds() || p.m.mem.peek(a, now[:], PermRead) == 0 {
		return 0, false
	}
	p.m.text.store(p.cpu, a, uint64(b), len(now))
	return now[0], true
}

// Poison fills n bytes with breakpoints, in one step. It emits no event: the caller's
// Free event covers it.
func (p *Patcher) Poison(a arch.Addr, n int) {
	p.yield(a, true)
	for end := a + arch.Addr(n); a < end; {
		k := min(int(end-a), int(chunk-a%chunk))
		p.m.time.bringText(p.cpu, a, k, true)
		p.m.text.put(p.m.mem.page(a), a, p.m.arch.Fill>>(8*(a%chunk))&(^uint64(0)>>(64-8*k)), k)
		a += arch.Addr(k)
	}
}

// little returns up to eight bytes as a number.
func little(b []byte) (v uint64) {
	if len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// SyncCore serialises this CPU.
func (x *Ctx) SyncCore(why kapi.Why) {
	x.m.time.spend(x.cpu.id, cycles.SyncCore, 1)
	x.m.weak.drainAll(x)
	x.m.text.serialise(x.cpu, uint64(why))
}

// Stacks is a context as it looks at the stacks of tasks.
type Stacks Ctx

// Stacks returns the context for looking at the stacks of tasks.
func (x *Ctx) Stacks() *Stacks { return (*Stacks)(x) }

// StandsIn reports whether a task that is off its CPU stands in one of the spans: its
// instruction pointer lies there, or a word of its stack does, or its link register. Such a word may be a return
// address, an address saved by a trap, or a number that looks like one. unwind, unless it is
// nil, says what address a word at a slot stands for; if it can't, the task counts as inside.
func (x *Stacks) StandsIn(t *Task, spans []kapi.Span, unwind func(slot, word arch.Addr) (arch.Addr, bool)) bool {
	x.m.foot.touchQueue(t.cpu, false)
	stands := func(slot, word arch.Addr) bool {
		if unwind == nil {
			return within(word, spans)
		}
		to, ok := unwind(slot, word)
		return !ok && len(spans) > 0 || within(to, spans)
	}
	in := stands(0, t.regs.IP)
	word := x.m.arch.Word
	if x.m.arch.Pushed == 0 && !in {
		in = stands(0, arch.Addr(t.regs.R[x.m.arch.Link]))
	}
	sp := x.m.arch.StackPointer(&t.regs)
	for a := sp &^ arch.Addr(word-1); a < t.stack && a >= t.stack-StackSize && !in; a += arch.Addr(word) {
		v, _ := x.m.mem.Load(a, word)
		in = stands(a, arch.Addr(v))
	}
	x.m.foot.knows((*Ctx)(x), 4+b2u(in)) // 2 and 3 are NeedResched's
	return in
}

// LookAt looks at a task within the current step, as if its runqueue was held. It finds
// whether the task runs on another CPU and, if not, whether it stands in one of the spans
// (StandsIn).
func (x *Stacks) LookAt(t *Task, spans []kapi.Span,
	unwind func(slot, word arch.Addr) (arch.Addr, bool)) (look kapi.Look) {
	x.m.foot.touchQueue(t.cpu, false)
	switch {
	case t.state == dead:
		return kapi.LookOut
	case t == x.task:
		was := t.regs
		t.regs = x.cpu.regs
		look = kapi.Look(b2u(x.StandsIn(t, spans, unwind)))
		t.regs = was
		return look
	case t.cpu.task == t && t.class == classIdle && x.m.cpus.SeenIdle(int(t.cpu.id)):
	case t.cpu.task == t:
		look = kapi.LookRuns
	case x.StandsIn(t, spans, unwind):
		look = kapi.LookInside
	}
	x.m.foot.knows((*Ctx)(x), 6+uint64(look))
	return look
}

// LetGo releases a task's runqueue, as after LookAt: when the task's CPU schedules, it sees
// what was done before, as after any unlock.
func (x *Stacks) LetGo(t *Task) { x.m.weak.handOver(x.cpu.id, t.cpu.id) }

func within(a arch.Addr, spans []kapi.Span) bool {
	for _, s := range spans {
		if a >= s.From && a < s.To {
			return true
		}
	}
	return false
}
