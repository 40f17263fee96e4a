package kernelcost

import (
	"fmt"
	"sync"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch/target"
)

// A Part is where instructions of a hit are executed.
type Part uint8

// The parts.
const (
	Engine Part = iota // from the breakpoint or the detour to the handler and back
	Copies             // copied instructions, breakpoints, jumps and detours themselves
	Step               // at the breakpoint after the copied instruction
	Return             // the trampoline of return probes, and functions that it calls
	Parts
)

var partNames = [Parts]string{"engine", "copies", "after the copy", "return"}

// String returns the part's name.
func (p Part) String() string { return partNames[p] }

// A Hit is the difference between a hit of a probe and a call without it or, if Call is set, a call of the kernel's
// API.
type Hit struct {
	Kind string // k, b, o, r, rb, ro, kk, kr, f, rf; register, optimize, unregister, unoptimize, and those with " r"
	Says string // in full
	Call bool   // it is a call, or the work after one
	Why  string // why nothing was counted, or a remark; "": none

	overhead.MachineCode
	Counted bool
	Parts   [Parts]int // of Instructions
	Lines   int        // of cache that were touched: the sum of the next three
	Text    int
	Data    int
	Stack   int
	Cycles  float64 // on MachineOf the kernel, by the mechanistic costs
}

// On returns a hit's cycles on a machine.
func (h *Hit) On(o *overhead.Model, m *overhead.Machine) float64 { return o.Price(m, &h.MachineCode) }

// Machine is the machine whose costs give Hit.Cycles for x86-64 kernels, Machine386 for i386.
const (
	Machine    = "xeon-e5410/x86_64"
	Machine386 = "xeon-e5410/i386"
)

// machines are by the processor of a kernel. Of others there are no figures.
var machines = map[target.Processor]string{target.X8664: Machine, target.I386: Machine386}

// MachineOf returns the machine whose costs give the hits' cycles for the kernel; "" if there is none.
func MachineOf(k *linux.Kernel) string { return machines[k.Processor] }

// Counts returns an error if no hits are counted for a kernel.
func Counts(k *linux.Kernel) error {
	if MachineOf(k) != "" {
		return nil
	}
	return fmt.Errorf("%s: is a kernel for %s, for which no hits are counted; give one for x86-64 or i386",
		k.Image.Path, k.Processor)
}

// model is the fit to the documents' figures.
var model = sync.OnceValues(func() (*overhead.Model, error) { return overhead.Fit(overhead.Figures()) })

// Count counts each kind of hit, and the calls, for a kernel with a mutant ("" for none). A row that couldn't be
// counted says why. The result is the same each time.
func Count(k *linux.Kernel, mutant string) ([]Hit, error) {
	if err := Counts(k); err != nil {
		return nil, err
	}
	o, err := model()
	if err != nil {
		return nil, err
	}
	linux.Give(k)
	var m *overhead.Machine
	for i := range overhead.Machines {
		if overhead.Machines[i].ID() == MachineOf(k) {
			m = &overhead.Machines[i]
		}
	}
	var hits, calls []Hit
	for i := range kinds {
		w, why, err := kinds[i].run(k, mutant)
		if err != nil {
			return nil, err
		}
		h, more := kinds[i].hits(w, why)
		hits, calls = append(hits, h), append(calls, more...)
	}
	hits = append(hits, calls...)
	for i := range hits {
		hits[i].Cycles = hits[i].On(o, m)
	}
	return hits, nil
}

// run runs a kind. It returns the executed code, and the violation or the reason why the run didn't end.
func (q *kind) run(k *linux.Kernel, mutant string) (w *watcher, why string, err error) {
	sc, err := q.scenario(k)
	if err != nil {
		return nil, "", err
	}
	if err := onlinux.Set(sc, k); err != nil {
		return nil, "", err
	}
	r, err := rig.NewGoingOn(sc, mutant, rig.GoOn{Past: properties.Every})
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	w = newWatcher(r, k)
	r.Machine.Trace(w)
	r.Log.Subscribe(w, events...)
	run := r.Run(new(sched.Default))
	switch {
	case run.Property != nil:
		why = fmt.Sprintf("it breaks %s: %s", run.Property.ID, run.Finding.Message)
	case run.Outcome != smp.Passed:
		why = fmt.Sprintf("the run ends as %v: %v", run.Outcome, run.Err)
	}
	return w, why, nil
}

// hits returns the hit of a kind, and the calls if this kind reports them.
func (q *kind) hits(w *watcher, why string) (Hit, []Hit) {
	h := Hit{Kind: q.name, Says: q.says, Why: why}
	if len(w.calls) > probed {
		h.count(w.calls[probed])
		h.Instructions -= w.calls[unprobed].own
		h.Parts[Copies] -= w.calls[unprobed].own
		h.Mispredicted -= w.calls[unprobed].Mispredicted
	}
	if h.Counted && h.Exceptions == 2 && (q.name == "b" || q.name == "rb") && why == "" {
		h.Why = "this kernel boosts no probe: it was built with CONFIG_PREEMPTION"
	}
	if q.name != "o" && q.name != "ro" {
		return h, nil
	}
	of, letter := "an "+q.says, ""
	if q.name == "ro" {
		letter = " r"
	}
	var calls []Hit
	for i, names := range [2][2]string{{"register", "optimize"}, {"unregister", "unoptimize"}} {
		for j, list := range [2][]*stretch{w.apis[i], w.rests[i]} {
			c := Hit{Kind: names[j] + letter, Says: names[j] + " " + of, Call: true}
			if len(list) > 1 {
				c.count(list[1])
			} else {
				c.Why = why
			}
			calls = append(calls, c)
		}
	}
	return h, calls
}

// count takes a stretch.
func (h *Hit) count(s *stretch) {
	h.MachineCode, h.Parts, h.Counted = s.MachineCode, s.parts, true
	h.Text, h.Data, h.Stack = len(s.text), len(s.data), len(s.stack)
	h.Lines = h.Text + h.Data + h.Stack
}
