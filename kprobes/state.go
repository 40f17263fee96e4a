package kprobes

import "kpsim/kprobes/kpev"

// Points returns how many aggrs the run has had. Context: as StateOf.
func (e *Engine) Points() int { return len(e.aggrs) }

// StateOf returns the words of a State event of aggr i, of 0 to Points()-1: where
// it is, bits, where its detour is. ok false: it is freed, or taken out and about to
// be, so that what stands there is another's. Context: kprobe_mutex held, or nothing
// running.
func (e *Engine) StateOf(i int) (addr, bits, detour uint64, ok bool) {
	p := e.aggrs[i]
	if p.freed || p.list == nil && p.Unused() && !p.armed.Peek() {
		return 0, 0, 0, false
	}
	flag := func(bit uint64, on bool) {
		if on {
			bits |= bit
		}
	}
	flag(kpev.StateArmed, p.armed.Peek())
	flag(kpev.StateJumped, p.jumped)
	flag(kpev.StateOptimized, p.optimized.Peek())
	flag(kpev.StateOptimizing, p.list == &e.optimizing)
	flag(kpev.StateUnoptimizing, p.list == &e.unoptimizing)
	flag(kpev.StateFreeing, p.list == &e.freeing)
	flag(kpev.StateGone, p.gone)
	flag(kpev.StateFtrace, p.verdict.Ftrace)
	return uint64(p.addr), bits, uint64(p.detour.addr), true
}

// Registered reports whether a probe is registered. Context: as StateOf.
func (k *Kprobe) Registered() bool { return k.aggr != nil }
