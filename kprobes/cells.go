package kprobes

import (
	"fmt"

	"kpsim/smp/kapi"
)

// CellName returns a readable name for a cell of the engine, or "" if it isn't one.
func (e *Engine) CellName(id kapi.CellID) string {
	switch id {
	case e.Table.probes.ID():
		return "the table of probes"
	case e.Optimizer.optimizingList.ID():
		return "the optimizing list"
	case e.Optimizer.unoptimizingList.ID():
		return "the unoptimizing list"
	case e.Optimizer.freeingList.ID():
		return "the freeing list"
	}
	if name := e.retCellName(id); name != "" {
		return name
	}
	for _, ap := range e.Table.aggrs {
		what := ""
		switch id {
		case ap.probes.ID():
			what = "the probes at %#x"
		case ap.armed.ID():
			what = "whether %#x is armed"
		case ap.optimized.ID():
			what = "whether %#x is optimized"
		case ap.slot.ID():
			what = "the copy of %#x"
		}
		if what != "" {
			return fmt.Sprintf(what, uint64(ap.addr))
		}
		c := ap.probes.Peek()
		if c == nil { // it is being registered
			continue
		}
		for _, p := range c.probes {
			if name := p.cellName(id); name != "" {
				return name
			}
		}
	}
	return ""
}

// cellName is CellName of one probe, while it is registered.
func (p *Kprobe) cellName(id kapi.CellID) string {
	switch id {
	case p.nmissed.ID():
		return fmt.Sprintf("the misses of probe %d", p.ID)
	case p.disabled.ID():
		return fmt.Sprintf("whether probe %d is disabled", p.ID)
	}
	return ""
}

// retCellName is CellName for the cells of return probes.
func (e *Engine) retCellName(id kapi.CellID) string {
	t := &e.Rethook
	for i := range t.buckets {
		if t.buckets[i].calls.ID() == id {
			return fmt.Sprintf("the calls in flight of the tasks that hash to %d", i)
		}
	}
	if t.ready.ID() == id {
		return "whether there were return probes"
	}
	if ap := &t.nopAggr; t.ready.Peek() && e.s.NopTrampoline() {
		switch id {
		case ap.probes.ID(), ap.armed.ID(), ap.optimized.ID(), ap.slot.ID(), t.nop.nmissed.ID(), t.nop.disabled.ID():
			return fmt.Sprintf("cell %d of the trampoline's probe", id-t.nop.nmissed.ID())
		}
	}
	for i := range t.calls {
		if t.ready.Peek() && t.calls[i].ID() == id {
			return fmt.Sprintf("the calls in flight of task %d", i)
		}
	}
	for _, rph := range e.Kretprobes.holders[:e.Kretprobes.nHolders] {
		if what := rph.cellName(id); what != "" {
			return fmt.Sprintf(what+" (memory %d)", rph.probe, rph.id)
		}
		for _, ri := range rph.all {
			switch id {
			case ri.next.ID():
				return fmt.Sprintf("what follows instance %d", ri.ID)
			case ri.refs.ID():
				return fmt.Sprintf("who looks at instance %d", ri.ID)
			}
		}
	}
	return ""
}

// cellName is CellName of one holder: a format of its return probe.
func (rph *holder) cellName(id kapi.CellID) string {
	for i := range rph.rings {
		slot := &rph.rings[i]
		what := ""
		switch id {
		case slot.Head.ID():
			what = "head"
		case slot.tail.ID():
			what = "tail"
		case slot.Last.ID():
			what = "last"
		case slot.places.ID():
			what = "places"
		}
		if what != "" {
			return fmt.Sprintf("%s of the free instances of return probe %%d on cpu%d", what, i)
		}
	}
	switch id {
	case rph.live.ID():
		return "whether return probe %d is live"
	case rph.refs.ID():
		return "the references to what instances of return probe %d belong to"
	case rph.head.ID(), rph.free.ID():
		return "the free instances of return probe %d"
	case rph.used.ID():
		return "the instances of return probe %d that are in use"
	case rph.rp.nmissed.ID():
		return "the misses of return probe %d"
	}
	return ""
}
