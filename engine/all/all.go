package all

import (
	"kpsim/engine"
	"kpsim/kprobes/plug"
	"kpsim/linux"
)

// Rows are the engines. The first is the default: the engine of a scenario that
// names none.
var Rows = []*engine.Row{
	&plug.Row,
	&linux.Row,
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
