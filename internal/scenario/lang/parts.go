package lang

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// makers returns the functions of the language that make the parts of some lists.
func makers(lists ...*scenario.List) (verbs []verb) {
	for _, l := range lists {
		for _, m := range l.Makers {
			params := make([]string, len(m.Params))
			for i, a := range m.Params {
				if params[i] = a.Name; a.Default != "" {
					params[i] += " = " + a.Default
				}
			}
			verbs = append(verbs, verb{sig: m.Word + "(" + strings.Join(params, ", ") + ")", do: makes(l, m),
				says: m.Says, kernel: m.Kernel})
		}
	}
	return verbs
}

// between returns the lists that are printed in these paragraphs.
func between(from, to scenario.Paragraph) (lists []*scenario.List) {
	for _, l := range scenario.Lists {
		if l.Paragraph >= from && l.Paragraph <= to {
			lists = append(lists, l)
		}
	}
	return lists
}

// An argument is a parameter of a part that is being made.
type argument struct {
	*scenario.PartParam
	l     *loader
	c     *call
	list  *scenario.List
	maker *scenario.Maker
	x     any            // the part
	at    any            // where it holds the parameter
	v     starlark.Value // what was said; nil: nothing
}

// Unpack implements starlark.Unpacker, for a string.
func (a *argument) Unpack(v starlark.Value) error {
	if _, err := text(v); err != nil {
		return err
	}
	a.v = v
	return nil
}

// makes makes a part of a list.
func makes(list *scenario.List, m *scenario.Maker) func(*loader, *call) (starlark.Value, error) {
	return func(l *loader, c *call) (starlark.Value, error) {
		x := list.New(m)
		args := make([]argument, len(m.Params))
		var pairs []any
		for i := range m.Params {
			a := &args[i]
			*a = argument{PartParam: &m.Params[i], l: l, c: c, list: list, maker: m, x: x,
				at: m.Params[i].At(x)}
			form, name, to := &partForms[a.Kind], a.Name, any(&a.v)
			switch {
			case a.Default == "":
			case form.none || a.Default == "None" && !form.keeps:
				name += "??"
			default:
				name += "?"
			}
			if form.into != nil {
				to = form.into(a)
			}
			pairs = append(pairs, name, to)
		}
		if err := c.unpack(pairs...); err != nil {
			return nil, err
		}
		for i := range args {
			a := &args[i]
			do := partForms[a.Kind].left
			if a.v != nil {
				do = partForms[a.Kind].read
			}
			if do == nil {
				continue
			}
			if err := do(a); err != nil {
				return nil, err
			}
		}
		return l.add(list, x, c), nil
	}
}

// add adds a part, and returns what the call is that made it.
func (l *loader) add(list *scenario.List, x any, c *call) starlark.Value {
	l.position[scenario.PartOf(list, list.Len(&l.s))] = c.at
	list.Add(&l.s, x)
	name := list.Name(x)
	if m, is := x.(scenario.Located); is {
		at, n, boundary := m.Span()
		if a, is := x.(*scenario.Alias); is {
			n = int(scenario.Align(at+arch.Addr(l.s.Aliased(a)), boundary) - at)
		}
		l.advancePast(at, n, boundary)
		if l.symbols[name] = at; list.Given {
			return location{what: list.What, name: name, at: at}
		}
	}
	if list.Given {
		return handle{list: list, name: name}
	}
	return starlark.None
}

// next returns where a part is put whose address isn't given.
func (l *loader) next(x any) arch.Addr {
	d, is := x.(*scenario.Data)
	t, _ := x.(*scenario.Text)
	if a, is := x.(*scenario.Alias); is {
		if t = l.s.Text(a.Of); t == nil {
			return l.data
		}
		return scenario.Align(l.data, scenario.Page) + t.At%scenario.Page
	}
	switch {
	case t != nil && t.Own:
		return scenario.Align(l.text, scenario.Page)
	case !is:
		return l.text
	case d.Away:
		return scenario.Align(l.data, scenario.Page)
	}
	return l.data
}

// paragraph prints the parts of one, after an empty line if there are any.
func (p *printer) paragraph(s *scenario.Scenario, which scenario.Paragraph) {
	lists := between(which, which)
	slices.SortStableFunc(lists, func(a, b *scenario.List) int {
		switch {
		case a.Last == b.Last:
			return 0
		case a.Last:
			return 1
		}
		return -1
	})
	n := 0
	for _, l := range lists {
		n += l.Len(s)
	}
	p.gap(n)
	for _, l := range lists {
		for i := 0; i < l.Len(s) && !p.full(); i++ {
			p.part(l, l.At(s, i), i)
		}
	}
}

// part prints part i of a list. What the language can't make, which Check refuses, isn't printed.
func (p *printer) part(l *scenario.List, x any, i int) {
	m := l.Maker(x)
	if m == nil {
		return
	}
	id, name := "", l.Name(x)
	if l.Given {
		id = p.ident(name)
	}
	var args []string
	order := m.Order()
	for k := range order {
		a := &order[k]
		switch said := partForms[a.Kind].print(p, a, x, scenario.PartOf(l, i)); {
		case said == a.Default && !a.Always:
		case a.Bare:
			args = append(args, said)
		default:
			args = append(args, a.Name+" = "+said)
		}
	}
	if id == "" {
		p.call(m.Word, args...)
		return
	}
	p.assign(id, m.Word, args...)
	if _, is := x.(scenario.Located); is {
		p.symbols[name] = id
	} else {
		p.parts[handle{list: l, name: name}] = id // not before: a probe's handlers may name it
	}
}
