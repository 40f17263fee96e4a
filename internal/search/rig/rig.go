package rig

import (
	"errors"
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Rig is one scenario built as a machine with a kernel, an engine and all monitors. It can
// be run many times. One goroutine uses it.
type Rig struct {
	*Plan
	Judges   judges
	Census   census
	Arrivals arrivals

	listing  listing
	patchers patchers
	probes   probes
	wiring   wiring
	tasks    tasks
	checks   checks
	setup    setup
	features features
	relate   *relate
	ofTrace  bool
	last     Run
}

// A Run is the result of one run.
type Run struct {
	Outcome  smp.Outcome
	Property *properties.Property // the broken property, nil if there is none
	Finding  traces.Finding
	Err      error // why the machine refused
	Digest   uint64
	Counts   smp.Counts
	During   bool // a jump was written in a function during a task's call of that function

	// Broken lists the violations in order, if the run continues after a violation. Property is
	// the first of them that isn't ignored. It is valid until the rig's next run.
	Broken []properties.Broken

	Early bool // the run was stopped before its end, by a finding or because its budget was used up
}

// New builds a rig. The scenario must have been checked (lang.Check). mutantName "" means the
// correct engine. Errors are about the scenario: an unknown mutant, text that doesn't decode,
// a label out of reach.
func New(sc *scenario.Scenario, mutantName string) (*Rig, error) {
	twin, err := build(sc, "", true)
	if err != nil {
		return nil, err
	}
	defer twin.Close()
	if err := twin.ends(); err != nil {
		sure := errors.Is(err, smp.ErrGoneText) || sc.PatchesByHand() || sharesText(sc)
		if r := watched(sc, mutantName, sure); r != nil {
			return r, nil
		}
		return nil, fmt.Errorf("%s: run without probes: %w", sc.Name, err)
	}
	r, err := build(sc, mutantName, false)
	if err != nil {
		return nil, err
	}
	r.expect(twin.checks.ends)
	return r, nil
}

// ends runs a twin, and says why it doesn't end as it should.
func (r *Rig) ends() error {
	switch run := r.Run(new(sched.Default)); {
	case run.Err != nil:
		return run.Err
	case run.Outcome != smp.Passed:
		return scenario.Placed(r.stands(), r.noEndAlone(run))
	}
	if r.checks.wrong != nil {
		return r.checks.wrong
	}
	return r.unprobed()
}

// watched returns a rig without a twin, whose run doesn't end as it should: nil, unless monitors see in its default
// run that the kernel is to blame. Patchers beside kprobes and the kernel's services work in a twin, too. A kernel
// that dies, a run without an end, a wrong result and text that a CPU shouldn't run may be the scenario's own fault,
// and don't count unless sure is set: text that has gone isn't the scenario's fault, and what its own patcher does, or
// two at one place, is what is searched.
func watched(sc *scenario.Scenario, mutantName string, sure bool) *Rig {
	r, err := build(sc, mutantName, false)
	if err != nil {
		return nil
	}
	r.Judges.withoutTwin()
	run := r.Run(new(sched.Default))
	switch run.Property {
	case nil, &properties.NoOops, &properties.OwnedBreakpoint, &properties.Progress, &properties.RightResult,
		&properties.NoUseAfterFree, &properties.WholeInstructions, &properties.NoStartInside:
		if run.Property == nil || !sure {
			r.Close()
			return nil
		}
	}
	return r
}

// expect makes calls end as those of a twin did.
func (r *Rig) expect(ends []callEnd) {
	r.checks.expects = append(r.checks.expects, ends...)
	for i := range r.checks.expects {
		e := &r.checks.expects[i]
		for _, p := range r.tasks.all {
			if p.background && e.task == uint64(p.task.ID) {
				e.call |= smpev.MayMiss
			}
		}
	}
}

// Close ends the rig's fibres. It is not used afterwards.
func (r *Rig) Close() { r.Machine.Close() }

// Run runs the scenario once under ch.
func (r *Rig) Run(ch sim.Chooser) Run {
	r.reset(ch)
	r.head()
	r.setup.again()

	run := Run{Outcome: r.Judges.runOn(), Err: r.refusal()}
	r.Judges.endsInGarbage(&run)
	r.leavesWork(&run)
	run.Early = run.Outcome == smp.Violated || run.Outcome == smp.Exhausted
	if run.Outcome == smp.Passed {
		drained := r.wiring.engine.Settled()
		r.Log.Emit(smpev.Done, 255, traces.NoTask, b2u(drained), 0, 0)
		r.Judges.end(r.wiring.engine, drained)
	}
	run.Digest, run.Counts = r.Log.Digest(), r.Machine.Counts()
	switch linear := r.Judges.linear; {
	case r.Log.Found != nil:
		run.Outcome, run.Finding = smp.Violated, *r.Log.Found
		if why := r.Machine.Died(); why != "" && run.Finding.Message != "" {
			run.Finding.Message += ": " + why
		}
		run.Property = r.Judges.monitors.Finder()
	case run.Outcome == smp.Stuck || run.Outcome == smp.Exhausted:
		run.Property = &properties.Progress
		run.Finding = traces.Finding{Message: r.noEnd(run)}
	case linear != nil && run.Outcome == smp.Passed:
		linear.judge(&run)
	}
	r.Judges.wentOn(&run)
	run.During = r.Census.during
	r.last = run
	return run
}

// reset sets everything that a run changes to what it was at the beginning.
func (r *Rig) reset(ch sim.Chooser) {
	r.Machine.Reset(ch)
	r.Kernel.Reset()
	r.renew()
	r.Judges.begin()
	r.tasks.begin()
	r.probes.counts.begin()
	r.checks.begin()
	if r.relate != nil {
		r.relate.begin()
	}
	r.Census.begin(r.probes.addrs)
	r.features.begin()
}

// head reports the state that the machine starts from. The text is the same in each run, so a
// caller that only watches gets it in the first run alone.
func (r *Rig) head() {
	if observed := r.relate != nil && r.relate.on; r.listing.told && !r.Log.Store && !observed {
		r.Log.Resume(r.listing.end)
		r.Judges.monitors.SameText()
	} else {
		r.listing.tell()
		r.listing.told = !r.twin
	}
	r.patchers.head()
	r.probes.head()
	r.checks.head()
}

// StateRoots returns pointers to the state that a run changes besides the machine and the
// tasks' programs: the kernel, the engine, the probes, the monitors. The pointers stay valid
// as long as the rig.
func (r *Rig) StateRoots() []any {
	list := []any{r.Kernel, r.patchers.labels, r.patchers.calls, r.patchers.Ftrace}
	if r.patchers.fprobes.Any() {
		list = append(list, r.patchers.fprobes)
	}
	if r.patchers.bpf.Any() {
		list = append(list, r.patchers.bpf)
	}
	if r.patchers.Patches.Any() {
		list = append(list, r.patchers.Patches)
	}
	if r.patchers.Debugger.Any() {
		list = append(list, r.patchers.Debugger)
	}
	if r.patchers.Uprobes.Any() {
		list = append(list, r.patchers.Uprobes)
	}
	r.wiring.engine.State(func(root any) { list = append(list, root) })
	if r.tasks.counted {
		list = append(list, &r.tasks.foreground)
	}
	if r.probes.counts.ran != nil {
		list = append(list, &r.probes.counts)
	}
	if r.Scenario.PatchesByHand() {
		list = append(list, r.patchers.Hand)
	}
	list = append(list, r.Judges.monitors.State()...)
	return list
}

// AddState adds the state of the tasks' programs, which the machine doesn't
// know.
func (r *Rig) AddState(h *sim.Hash) {
	for _, p := range r.tasks.all {
		h.Add(p.calls)
		if r.tasks.probed {
			h.Add(b2u(p.hit))
		}
		h.Add(p.came)
	}
}
