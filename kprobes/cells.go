package kprobes

import (
	"fmt"

	"kpsim/kprobes/era"
	"kpsim/smp/kapi"
)

// CellName says what a cell of the engine's is, for people; "" if it isn't one.
func (e *Engine) CellName(id kapi.CellID) string {
	switch id {
	case e.table.ID():
		return "the table of probes"
	case e.optimizing.ID():
		return "the optimizing list"
	case e.unoptimizing.ID():
		return "the unoptimizing list"
	case e.freeing.ID():
		return "the freeing list"
	}
	if name := e.retCellName(id); name != "" {
		return name
	}
	for _, p := range e.aggrs {
		what := ""
		switch id {
		case p.probes.ID():
			what = "the probes at %#x"
		case p.armed.ID():
			what = "whether %#x is armed"
		case p.optimized.ID():
			what = "whether %#x is optimized"
		case p.slot.ID():
			what = "the copy of %#x"
		}
		if what != "" {
			return fmt.Sprintf(what, uint64(p.addr))
		}
		c := p.probes.Peek()
		if c == nil { // it is being registered
			continue
		}
		for _, k := range c.probes {
			if name := k.cellName(id); name != "" {
				return name
			}
		}
	}
	return ""
}

// cellName is CellName of one probe, while it is registered.
func (k *Kprobe) cellName(id kapi.CellID) string {
	switch id {
	case k.missed.ID():
		return fmt.Sprintf("the misses of probe %d", k.ID)
	case k.disabled.ID():
		return fmt.Sprintf("whether probe %d is disabled", k.ID)
	}
	return ""
}

// retCellName is CellName of what return probes have made.
func (e *Engine) retCellName(id kapi.CellID) string {
	t := &e.ret
	for i := range t.buckets {
		if t.buckets[i].calls.ID() == id {
			return fmt.Sprintf("the calls in flight of the tasks that hash to %d", i)
		}
	}
	if t.ready.ID() == id {
		return "whether there were return probes"
	}
	if p := &t.nopAggr; t.ready.Peek() && e.s.Return == era.ReturnGlobal {
		switch id {
		case p.probes.ID(), p.armed.ID(), p.optimized.ID(), p.slot.ID(), t.nop.missed.ID(), t.nop.disabled.ID():
			return fmt.Sprintf("cell %d of the trampoline's probe", id-t.nop.missed.ID())
		}
	}
	for i := range t.calls {
		if t.ready.Peek() && t.calls[i].ID() == id {
			return fmt.Sprintf("the calls in flight of task %d", i)
		}
	}
	for _, h := range t.holders[:t.nHolders] {
		if what := h.cellName(id); what != "" {
			return fmt.Sprintf(what+" (memory %d)", h.probe, h.id)
		}
		for _, ri := range h.all {
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
func (h *holder) cellName(id kapi.CellID) string {
	for i := range h.rings {
		r := &h.rings[i]
		what := ""
		switch id {
		case r.Head.ID():
			what = "head"
		case r.tail.ID():
			what = "tail"
		case r.Last.ID():
			what = "last"
		case r.cell.ID():
			what = "places"
		}
		if what != "" {
			return fmt.Sprintf("%s of the free instances of return probe %%d on cpu%d", what, i)
		}
	}
	switch id {
	case h.live.ID():
		return "whether return probe %d is live"
	case h.refs.ID():
		return "the references to what instances of return probe %d belong to"
	case h.head.ID(), h.free.ID():
		return "the free instances of return probe %d"
	case h.used.ID():
		return "the instances of return probe %d that are in use"
	case h.rp.missed.ID():
		return "the misses of return probe %d"
	}
	return ""
}
