package all

import (
	"kpsim/engine"
	"kpsim/kprobes/plug"
)

// Rows are the engines. The first is the default: the engine of a scenario that
// names none. A kernel's own engine comes with package linux/boot, so that a program that runs no kernel is
// without it.
var Rows = []*engine.Row{
	&plug.Row,
}

// Named returns the engine of that name, the first for "", nil if there is none.
func Named(name string) *engine.Row {
	for _, r := range Rows {
		if r.Name == name || name == "" {
			return r
		}
	}
	return nil
}
