package kprobes

import (
	"fmt"

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
	for _, p := range e.points {
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
		for _, k := range p.probes.Peek().probes {
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
