package pairs

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// operation returns what an operation is about.
func (w *Watch) operation(op *scenario.Op) operation {
	o := operation{op: op}
	sc := w.rig.Scenario
	add := func(of subject, name string) {
		for _, s := range sortsOf(op.Kind.Object) {
			if s.kind != nil && !s.kind(sc, name) {
				continue
			}
			v := variant{op.Kind, op.On && op.Kind.Has(scenario.ParamOn), s}
			of.sort, of.name, of.pairs = s, name, w.table.of[v]
			o.subjects = append(o.subjects, of)
		}
	}
	switch op.Kind.Object {
	case scenario.Nothing:
	case scenario.AProbe:
		for _, name := range named(op) {
			add(w.probe(name), name)
		}
	case scenario.ALabel:
		i := slices.IndexFunc(sc.Labels, func(l scenario.Label) bool { return l.Name == op.Target })
		of := w.function(sc.Labels[i].Sites[0].Func)
		of.number = i
		add(of, op.Target)
	case scenario.AStaticCall:
		i := slices.IndexFunc(sc.Calls, func(c scenario.StaticCall) bool { return c.Name == op.Target })
		of := subject{}
		if sites := sc.Calls[i].Sites; len(sites) > 0 {
			of = w.function(sites[0].Func)
		}
		of.number = i
		add(of, op.Target)
	case scenario.AModule:
		add(subject{module: op.Target}, op.Target)
	case scenario.AnFprobe:
		i := slices.IndexFunc(sc.Fprobes, func(f scenario.Fprobe) bool { return f.Name == op.Target })
		of := subject{number: i}
		for _, f := range sc.Fprobes[i].Funcs {
			of.sites = append(of.sites, w.function(f).site)
		}
		add(of, op.Target)
	case scenario.ABpf:
		i := slices.IndexFunc(sc.Bpfs, func(b scenario.Bpf) bool { return b.Name == op.Target })
		add(w.function(sc.Bpfs[i].Func), op.Target)
	case scenario.APatch, scenario.ADirect, scenario.AFunction, scenario.AUprobe, scenario.AWork,
		scenario.TextByHand, scenario.AMemory, scenario.ADispatcher, scenario.ATailCall:
		add(w.function(op.Target), op.Target)
	case scenario.ABreakpoint:
		of := w.function(op.Target)
		of.number, of.at = op.Offset, of.span[0]+arch.Addr(op.Offset)
		add(of, op.Target)
	case scenario.ACPU:
		add(subject{number: op.CPU}, "")
	default: // there is one of them
		add(subject{}, "")
	}
	return o
}

// named returns the names of the parts that an operation is about.
func named(op *scenario.Op) []string {
	if op.Target != "" {
		return []string{op.Target}
	}
	return op.Targets
}

// function returns a function as a subject.
func (w *Watch) function(name string) subject {
	sc := w.rig.Scenario
	of := subject{in: name}
	if t := sc.Text(name); t != nil {
		of.span[0], _ = w.rig.Func(name)
		of.span[1] = of.span[0] + arch.Addr(len(t.Code))
	}
	for _, s := range sc.Sites {
		if s.Func == name {
			of.site = of.span[0] + arch.Addr(s.Offset)
		}
	}
	for i := range sc.Modules {
		if m := &sc.Modules[i]; slices.Contains(m.Core, name) || slices.Contains(m.Init, name) {
			of.module = m.Name
		}
	}
	return of
}

// probe returns a probe as a subject.
func (w *Watch) probe(name string) subject {
	sc := w.rig.Scenario
	k := sc.Probe(name)
	f, known := sc.Place(k)
	of := subject{}
	if known {
		of = w.function(f)
		of.at = of.span[0] + arch.Addr(k.Offset+sc.Entry(k))
	}
	of.number = slices.IndexFunc(sc.Probes, func(p scenario.Probe) bool { return p.Name == name })
	return of
}
