package closure

import "kpsim/linux/vmlinux"

// A Cost is what a function of the boundary would add if it ran as compiled, with all that it calls, except what is
// inside already and what is served.
type Cost struct {
	Functions    int  `json:"functions"`
	Instructions int  `json:"instructions"`
	Pointers     int  `json:"pointers"` // calls and jumps through pointers, whose targets aren't counted
	More         bool `json:"more"`     // there are more functions: MostCost were counted
}

// MostCost is how many functions Cost counts. What takes more leads into most of the kernel, and wants a service.
const MostCost = 100

// Cost computes what a callee would add. served reports whether a function has a service.
func (c *Closure) Cost(of Callee, served func(name string) bool) Cost {
	d := *c
	d.Inside, d.Boundary, d.Special, d.Indirect, d.Paravirt = nil, nil, nil, nil, 0
	w := walk{c: &d, seen: make(map[uint64]bool), callees: make(map[uint64]*Callee), sets: make(map[string]*member),
		most:   MostCost,
		beyond: func(s vmlinux.Symbol) bool { return !c.served(Callee{Name: s.Name, Addr: s.Addr}, served) }}
	for i := range c.Inside {
		w.seen[c.Inside[i].Addr] = true
	}
	if s, ok := c.Image.Lookup(of.Addr); ok {
		w.take(s)
	}
	w.run()
	cost := Cost{Functions: len(d.Inside), Pointers: len(d.Indirect) + d.Paravirt, More: len(w.queue) > 0}
	for i := range d.Inside {
		cost.Instructions += d.Inside[i].Insns
	}
	return cost
}

// take queues a function that no set has.
func (w *walk) take(s vmlinux.Symbol) {
	if !w.seen[s.Addr] {
		w.seen[s.Addr] = true
		w.queue = append(w.queue, Function{Name: s.Name, Addr: s.Addr, Size: min(s.Size, mostFunction)})
	}
}
