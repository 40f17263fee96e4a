package calls

import (
	"cmp"
	"slices"

	"kpsim/internal/search/rig"
	"kpsim/linux/linuxev"
	"kpsim/linux/source"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// Ran says which code a run on a kernel's own engine consisted of.
type Ran struct {
	Release   string     `json:"release"`
	Functions []Function `json:"ran"`       // of the kernel, executed as they were compiled, by name
	Served    []Served   `json:"stood_in"`  // called by the kernel's code, and answered by kpsim in Go, by name
	Of        int        `json:"functions"` // how many functions of the kernel kpsim executes if they are called
}

// A Function is one that a CPU stood in.
type Function struct {
	Name  string `json:"function"`
	Set   string `json:"set"`
	Where string `json:"place,omitempty"` // its source file, with the line of its entry if that is known
	Ran   int    `json:"ran"`             // how many of its instructions a CPU stood at
	Of    int    `json:"instructions"`    // of how many
	Times int    `json:"times"`           // how often a CPU stood at any
}

// A Served is a function that kpsim answered instead of the kernel.
type Served struct {
	Name  string `json:"function"`
	Calls int    `json:"calls"`
	From  string `json:"called_by"` // the function that called it first; "": not found on the stack
}

// Watch makes the first run of a strategy, and lists the code that it consisted of.
func Watch(g *rig.Rig, by sched.Strategy, s *source.Source) (*Ran, rig.Run) {
	w := &witness{follower: follower{m: g.Machine, source: s}, stood: make(map[arch.Addr]int), served: []Served{}}
	g.Log.Subscribe(w, linuxev.Call)
	defer g.Log.Unsubscribe(w)
	g.Observe(w)
	defer g.Observe(nil)
	run := g.Play(by)
	inside := s.Kernel().Closure
	ran := &Ran{Release: s.Kernel().Image.Release, Functions: []Function{}, Served: w.served, Of: len(inside.Inside)}
	slices.Sort(w.seen)
	last := ""
	for _, at := range w.seen {
		in := inside.Function(uint64(at))
		if in == nil || w.serves(in.Name) != nil { // its first instruction leads to the service
			continue
		}
		if in.Name != last {
			last = in.Name
			ran.Functions = append(ran.Functions, Function{Name: in.Name, Set: in.Set, Of: in.Insns,
				Where: cmp.Or(s.Line(arch.Addr(in.Addr)), in.File)})
		}
		f := &ran.Functions[len(ran.Functions)-1]
		f.Ran++
		f.Times += w.stood[at]
	}
	slices.SortFunc(ran.Functions, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(ran.Served, func(a, b Served) int { return cmp.Compare(a.Name, b.Name) })
	return ran, run
}

// A witness notes at which instructions the CPUs stand after each step, and which services are called.
type witness struct {
	follower
	stood  map[arch.Addr]int
	seen   []arch.Addr // the keys of stood
	served []Served
}

// Stepped implements sim.Observer.
func (w *witness) Stepped(mv sim.Mover, _ []sim.Touch) {
	if mv >= sim.MaxCPUs || w.m.Inspect().Current(int(mv)).Idle() {
		return
	}
	if _, _, text := w.m.Names().Where(mv); text {
		regs, _ := w.m.Inspect().Regs(int(mv))
		if w.stood[regs.IP]++; w.stood[regs.IP] == 1 {
			w.seen = append(w.seen, regs.IP)
		}
	}
}

// Event implements traces.Sink.
func (w *witness) Event(e *traces.Event) *traces.Finding {
	name, _, _ := w.m.Names().SymbolAt(arch.Addr(e.A))
	s := w.serves(name)
	if s == nil {
		w.served = append(w.served, Served{Name: name})
		s = &w.served[len(w.served)-1]
		regs, _ := w.m.Inspect().Regs(int(e.CPU))
		if chain := w.chain(&regs, arch.Addr(e.B)); chain != nil {
			s.From = w.source.Functions(chain[0] - 1)[0]
		}
	}
	s.Calls++
	return nil
}

// serves returns what was noted of a service; nil: it wasn't called.
func (w *witness) serves(name string) *Served {
	if i := slices.IndexFunc(w.served, func(s Served) bool { return s.Name == name }); i >= 0 {
		return &w.served[i]
	}
	return nil
}
