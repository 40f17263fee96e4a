package edit

import (
	"slices"

	"kpsim/internal/scenario"
)

// fewerSymbols omits functions, data and missing symbols that no other part names. Functions that others, which stay,
// call or jump to stay, too: they give the targets names. Code may refer to what is omitted in other ways; then the run
// shows it.
func fewerSymbols(s *scenario.Scenario, list []Edit) []Edit {
	used := make(map[string]bool)
	for _, l := range scenario.Lists {
		for i := range l.Len(s) {
			l.Symbols(l.At(s, i), func(name string) { used[name] = true })
		}
	}
	given := func(name string, at uint64, n int) {
		used[name] = used[name] || s.Any(func(op *scenario.Op) bool {
			return slices.ContainsFunc(op.Args, func(v uint64) bool { return v-at < uint64(n) })
		})
	}
	if s.Machine.Memory != 0 || len(s.Aliases) > 0 { // stores are then reported under the names of their targets
		for i := range s.Datas {
			given(s.Datas[i].Name, uint64(s.Datas[i].At), len(s.Datas[i].Bytes))
		}
	}
	for i := range s.Aliases { // a patcher gets functions as addresses, and leads to others in some schedules only
		given(s.Aliases[i].Name, uint64(s.Aliases[i].At), s.Aliased(&s.Aliases[i]))
		for k := range s.Texts {
			t := &s.Texts[k]
			used[t.Name] = used[t.Name] || s.Mentions(t.At, len(t.Code), t.Name)
			given(t.Name, uint64(t.At), len(t.Code))
		}
	}
	leads(s, used)
	for _, l := range scenario.Lists {
		if l.Paragraph != scenario.InText {
			continue
		}
		for i := l.Len(s) - 1; i >= 0; i-- {
			x := l.At(s, i)
			name := l.Name(x)
			if l.Given && used[name] { // nothing names a missing symbol
				continue
			}
			list = append(list, Edit{Beginning: true, Says: l.Called(x) + " left out",
				apply: func(c *scenario.Scenario) {
					l.Drop(c, i)
					scenario.DropSymbol(c, name)
				}})
		}
	}
	return list
}

// leads marks the functions that instructions of marked functions call or jump to.
func leads(s *scenario.Scenario, used map[string]bool) {
	var queue []*scenario.Text
	for i := range s.Texts {
		if t := &s.Texts[i]; used[t.Name] {
			queue = append(queue, t)
		}
	}
	for len(queue) > 0 {
		to := s.LeadsTo(queue[0])
		queue = queue[1:]
		for _, t := range to {
			if !used[t.Name] {
				used[t.Name] = true
				queue = append(queue, t)
			}
		}
	}
}
