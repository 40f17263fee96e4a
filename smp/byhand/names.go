package byhand

import "kpsim/smp/kapi"

// CellName describes a cell of a patcher's for people; "" if the cell isn't one.
func (h *Hand) CellName(id kapi.CellID) string {
	for _, b := range h.breaks {
		switch {
		case b.does.ID() == id:
			return "what the breakpoint at " + h.k.M.Names().Symbol(b.at) + " does"
		case b.waits && b.here.ID() == id:
			return "whether the breakpoint at " + h.k.M.Names().Symbol(b.at) + " stands"
		}
	}
	for _, c := range h.codes {
		code := h.k.M.Names().Symbol(c.in.At)
		switch {
		case c.now.ID() == id:
			return "whether " + code + " is mapped"
		case c.page != nil && c.page.now.ID() == id:
			return "whether " + code + " can be executed"
		case c.page != nil && c.page.does.ID() == id:
			return "what a fault in " + code + " does"
		}
	}
	if s := &h.stops; s.goes[0].s != nil {
		switch id {
		case s.wanted.ID():
			return "which CPUs are to stay stopped"
		case s.inside.ID():
			return "which CPUs have stopped"
		case s.left.ID():
			return "whether a task has left the range"
		}
	}
	if s := &h.points; len(s.tasks) > 0 {
		switch id {
		case s.waits.ID():
			return "how many waits for safepoints have begun"
		case s.passed.ID():
			return "which tasks have passed a safepoint"
		}
	}
	return ""
}
