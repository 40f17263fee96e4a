package rig

import (
	"fmt"
	"slices"

	"kpsim/engine/bpf"
	"kpsim/engine/fprobe"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// addRedirected records which sites of ftrace lead tasks elsewhere: which functions are live
// patched, and which sites call a client directly.
func (ps *patchers) addRedirected() error {
	sc := ps.Scenario
	for i := range sc.Texts {
		t := &sc.Texts[i]
		site := ps.siteOf(t.Name)
		if sc.Redirected(t.Name, scenario.Live) {
			ps.Patches.AddFunc(span(t), site)
		}
		if sc.Redirected(t.Name, scenario.Direct) {
			ps.Ftrace.BootDirect(site, ps.claims())
		}
	}
	for i := range sc.Tasks {
		for k := range sc.Tasks[i].Ops {
			if op := &sc.Tasks[i].Ops[k]; op.Kind == act.PatchFunc {
				ps.Patches.Add(ps.patchOf(op)...)
			}
		}
	}
	ps.Fprobe = make(map[string]*fprobe.Fprobe)
	for i := range sc.Fprobes {
		fp := &sc.Fprobes[i]
		var sites []arch.Addr
		for _, f := range fp.Funcs {
			sites = append(sites, ps.siteOf(f))
		}
		ps.Fprobe[fp.Name] = ps.fprobes.Add(sites, ps.handlersOf(fp))
	}
	if err := ps.addBpf(); err != nil {
		return err
	}
	if err := ps.addDispatchers(); err != nil {
		return err
	}
	if err := ps.addTails(); err != nil {
		return err
	}
	ps.landmarks()
	return ps.directsReach()
}

// addBpf adds the BPF programs.
func (ps *patchers) addBpf() error {
	from, to := kernel.ExecRange(ps.arch)
	ps.Bpf = make(map[string]*bpf.Prog)
	for i := range ps.Scenario.Bpfs {
		b := &ps.Scenario.Bpfs[i]
		site := ps.siteOf(b.Func)
		if !ps.Scenario.Redirected(b.Func, scenario.Direct) && !ps.programmed(i, b.Func) {
			ps.Ftrace.BootDirect(site, ps.claims())
		}
		p := ps.bpf.Add(site, ps.funcs[b.Run], b.Kind)
		if !p.Reaches(from, to) {
			return scenario.Faultf(scenario.PartOf(scenario.TheBpfs, i), "%s: program %s: an image between %#x and "+
				"%#x is out of reach of a 5-byte call of %s; place that within 2 GB", ps.Scenario.Name, b.Name,
				uint64(from), uint64(to), b.Func)
		}
		ps.Bpf[b.Name] = p
	}
	return nil
}

// addDispatchers adds the BPF dispatchers.
func (ps *patchers) addDispatchers() (err error) {
	from, to := kernel.ExecRange(ps.arch)
	ps.Dispatcher = make(map[string]*bpf.Dispatcher)
	ps.Scenario.Any(func(op *scenario.Op) bool {
		if op.Kind.Object != scenario.ADispatcher {
			return false
		}
		d := ps.Dispatcher[op.Target]
		if d == nil {
			ps.Machine.Memory().Watch(ps.funcs[op.Target], ps.arch.BranchLen)
			d = ps.bpf.AddDispatcher(ps.funcs[op.Target])
			ps.Dispatcher[op.Target] = d
		}
		if !d.Reaches(ps.funcs[op.Targets[0]], from, to) {
			err = ps.textFault(ps.Text(op.Targets[0]), fmt.Errorf("%s: %s(): %s or %s is out of reach of an image "+
				"between %#x and %#x; place both within 2 GB", ps.Scenario.Name, op.Kind, op.Target, op.Targets[0],
				uint64(from), uint64(to)))
		}
		return err != nil
	})
	return err
}

// addTails adds the tail calls of BPF.
func (ps *patchers) addTails() (err error) {
	ps.Tail, ps.tailed = make(map[string]*bpf.TailCall), make(map[string][]arch.Addr)
	ps.Scenario.Any(func(op *scenario.Op) bool {
		if op.Kind != act.TailCall {
			return false
		}
		t := ps.Tail[op.Target]
		if t == nil {
			f := ps.funcs[op.Target]
			bypass, nop, _ := act.TailPlaces(ps.Text(op.Target)) // it has been checked
			for _, off := range [...]int{bypass, nop} {
				ps.Machine.Memory().Watch(f+arch.Addr(off), ps.arch.BranchLen)
			}
			t = ps.bpf.AddTailCall(f+arch.Addr(bypass), f+arch.Addr(nop), f+arch.Addr(nop+ps.arch.BranchLen))
			ps.Tail[op.Target] = t
		}
		if len(op.Targets) == 0 {
			return false
		}
		p := ps.funcs[op.Targets[0]]
		if ps.tailed[op.Target] = append(ps.tailed[op.Target], p); !t.Reaches(p) {
			err = ps.textFault(ps.Text(op.Targets[0]), fmt.Errorf("%s: %s(): %s is out of reach of a 5-byte jump of "+
				"%s; place it within 2 GB", ps.Scenario.Name, op.Kind, op.Targets[0], op.Target))
		}
		return err != nil
	})
	return err
}

// tailImages calls image with the instructions of tail calls, in the order of their functions.
func (ps *patchers) tailImages(image func(at arch.Addr, insn arch.Code)) {
	for i := range ps.Scenario.Texts {
		if f := ps.Scenario.Texts[i].Name; ps.Tail[f] != nil {
			ps.Tail[f].Images(ps.tailed[f], image)
		}
	}
}

// programmed reports whether one of the first n programs is for a function.
func (ps *patchers) programmed(n int, f string) bool {
	return slices.ContainsFunc(ps.Scenario.Bpfs[:n], func(b scenario.Bpf) bool { return b.Func == f })
}

// claims reports whether a direct call counts as a client that changes the path, as until 5.19.
func (ps *patchers) claims() bool {
	return ps.Scenario.Machine.Edition == rules.Edition514 || ps.refuses
}

// landmarks marks where calls of the functions that a live patch or a direct call leads elsewhere may arrive. Calls
// that a probe moves aren't followed.
func (ps *patchers) landmarks() {
	mem := ps.Machine.Memory()
	ps.leads(func(_ uint64, name string, site, to arch.Addr) {
		if site == 0 || ps.moved(name) {
			return
		}
		mem.Landmark(site)
		mem.Landmark(site + arch.Addr(ps.arch.BranchLen))
		mem.Landmark(to)
	})
}

// leads calls f with each live patch and direct call, as in smpev.Leads, with the function whose site it leads
// elsewhere, and with the function to which it leads. The site of a patch is 0 where the function has none.
func (ps *patchers) leads(f func(subject uint64, name string, site, to arch.Addr)) {
	sc := ps.Scenario
	for i := range sc.Tasks {
		for k := range sc.Tasks[i].Ops {
			op := &sc.Tasks[i].Ops[k]
			if op.Kind != act.PatchFunc && op.Kind != act.RegisterDirect && op.Kind != act.ModifyDirect {
				continue
			}
			op.Pairs(func(old, to string) {
				site := ps.siteOf(old)
				if site == 0 && op.Kind != act.PatchFunc {
					return
				}
				subject := smpev.SubjectPatch + ps.Patches.Number(ps.patchOf(op)...)
				if op.Kind != act.PatchFunc {
					subject = smpev.SubjectDirect + uint64(slices.IndexFunc(sc.Sites,
						func(s scenario.Site) bool { return s.Func == old }))
				}
				f(subject, old, site, ps.funcs[to])
			})
		}
	}
}

// moved reports whether a probe of a function changes where its calls continue.
func (ps *patchers) moved(name string) bool {
	return slices.ContainsFunc(ps.Scenario.Probes, func(k scenario.Probe) bool {
		return k.Func == name && (k.Kind == scenario.ProbeJprobe || scenario.AnyStep(k.Pre, scenario.StepMoves) ||
			scenario.AnyStep(k.Pre, scenario.StepReturns1))
	})
}

// directs calls f with each site that at some time calls a function directly, and with that
// function.
func (ps *patchers) directs(f func(site arch.Addr, t *scenario.Text)) {
	for _, s := range ps.Scenario.Sites {
		for i := range ps.Scenario.Tasks {
			for _, op := range ps.Scenario.Tasks[i].Ops {
				if (op.Kind == act.RegisterDirect || op.Kind == act.ModifyDirect) && op.Target == s.Func {
					f(ps.siteOf(s.Func), ps.Text(op.Targets[0]))
				}
			}
		}
	}
}

// directsReach checks that each of these functions is in reach of its site.
func (ps *patchers) directsReach() (err error) {
	if !ps.Ftrace.Direct() {
		return nil
	}
	ps.directs(func(site arch.Addr, t *scenario.Text) {
		if _, ok := ps.Kernel.Text.Arch().Call(site, t.At); !ok {
			err = ps.textFault(t,
				fmt.Errorf("%s: register_direct(): %s is out of reach of a %d-byte call; place it within %s",
					ps.Scenario.Name, t.Name, ps.arch.BranchLen, ps.arch.Reach))
		}
	})
	return err
}

// directImages calls image with the direct calls that may stand at sites.
func (ps *patchers) directImages(image func(at arch.Addr, insn arch.Code)) {
	if !ps.Ftrace.Direct() {
		return
	}
	ps.directs(func(site arch.Addr, t *scenario.Text) {
		call, _ := ps.Kernel.Text.Arch().Call(site, t.At) // directsReach has checked it
		image(site, call)
	})
}
