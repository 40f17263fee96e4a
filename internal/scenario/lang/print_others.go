package lang

import (
	"fmt"

	"kpsim/internal/scenario"
)

// around prints modules, sites and static calls.
func (p *printer) around(s *scenario.Scenario) {
	p.gap(len(s.Modules) + len(s.Sites) + len(s.Fprobes) + len(s.Locked) + len(s.Alternatives) + len(s.Calls) + len(s.Reserved))
	names := func(list []string) string {
		text := ""
		for i, name := range list {
			if i > 0 {
				text += ", "
			}
			text += p.symbols[name]
		}
		return "[" + text + "]"
	}
	for i := range s.Modules {
		m := &s.Modules[i]
		id := p.ident(m.Name)
		p.labels["module "+m.Name] = id
		p.assign(id, "module", Quote(m.Name), "funcs = "+names(m.Core),
			p.unless(len(m.Init) == 0, "init_funcs", names(m.Init)), p.unless(len(m.Data) == 0, "data", names(m.Data)),
			p.unless(m.Enter == "", "init", p.symbols[m.Enter]), p.unless(m.Leave == "", "exit", p.symbols[m.Leave]),
			p.unless(!m.Loaded, "loaded", "True"))
	}
	for i := range s.Sites {
		p.call("fentry", p.place(s.Sites[i].Func, uint64(s.Sites[i].Offset)))
	}
	for i := range s.Fprobes {
		fp := &s.Fprobes[i]
		id := p.ident(fp.Name)
		p.labels["fprobe "+fp.Name] = id
		p.assign(id, "fprobe", Quote(fp.Name), names(fp.Funcs), p.unless(fp.Entry == "", "entry", p.symbols[fp.Entry]),
			p.unless(fp.Exit == "", "exit", p.symbols[fp.Exit]))
	}
	for i := range s.Locked {
		p.call("lock_prefix", p.place(s.Locked[i].Func, uint64(s.Locked[i].Offset)))
	}
	for i := range s.Alternatives {
		a := &s.Alternatives[i]
		p.call("alternative", p.place(a.Func, uint64(a.Offset)), dataString(a.Code))
	}
	for i := range s.Calls {
		k := &s.Calls[i]
		id := p.ident(k.Name)
		p.labels["call "+k.Name] = id
		places := [2]string{}
		for _, t := range k.Sites {
			list := &places[0]
			if t.Tail {
				list = &places[1]
			}
			if *list != "" {
				*list += ", "
			}
			*list += p.place(t.Func, uint64(t.Offset))
		}
		p.assign(id, "static_call", Quote(k.Name), p.unless(places[0] == "", "sites", "["+places[0]+"]"),
			p.unless(places[1] == "", "tails", "["+places[1]+"]"),
			p.unless(k.Trampoline == "", "trampoline", p.symbols[k.Trampoline]),
			p.unless(k.Target == "", "target", p.symbols[k.Target]))
	}
	p.printReserved(s)
}

// printReserved prints reserved places.
func (p *printer) printReserved(s *scenario.Scenario) {
	for _, r := range s.Reserved {
		p.call("reserved", p.place(r.Func, uint64(r.Offset)), Quote(r.By.String()),
			p.unless(r.Size == scenario.ReasonSizes[r.By], "size", fmt.Sprint(r.Size)))
	}
}
