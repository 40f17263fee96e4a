package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
)

// readKeySites reads where the sites of a jump label are: a place, or a list of places. An offset, which has been
// stored in the first site, moves each.
func readKeySites(a *argument) error {
	to := a.at.(*[]scenario.LabelSite)
	first := (*to)[0]
	places, err := placesOf(a.Name, a.v)
	if err != nil {
		return err
	}
	*to = (*to)[:0]
	for _, v := range places {
		t := first
		if t.Func, t.Offset, err = site(a.Name, v, first.Offset); err != nil {
			return err
		}
		*to = append(*to, t)
	}
	return nil
}

// readKeyTargets reads where their jumps go: one place for all, or a list with one for each. toff moves each.
func readKeyTargets(a *argument) error {
	to := *a.at.(*[]scenario.LabelSite)
	toff := to[0].TOff
	places, err := placesOf(a.Name, a.v)
	if err != nil {
		return err
	}
	if len(places) != 1 && len(places) != len(to) {
		return fmt.Errorf("%s has %d places, at has %d; give one for each, or one for all", a.Name, len(places),
			len(to))
	}
	for i := range to {
		if to[i].Target, to[i].TOff, err = site(a.Name, places[min(i, len(places)-1)], toff); err != nil {
			return err
		}
	}
	return nil
}

// placesOf returns a place as a list of one, or a list that isn't empty.
func placesOf(what string, v starlark.Value) ([]starlark.Value, error) {
	if _, is := v.(*starlark.List); !is {
		return []starlark.Value{v}, nil
	}
	list, err := sequence(what, v, "write [f, g + 2]")
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s is an empty list; write [f, g + 2]", what)
	}
	return list, err
}

// readKeyLikely reads which of the sites are likely branches: all or none, or a list with one word for each.
func readKeyLikely(a *argument) error {
	to := *a.at.(*[]scenario.LabelSite)
	if is, ok := a.v.(starlark.Bool); ok {
		for i := range to {
			to[i].Likely = bool(is)
		}
		return nil
	}
	list, err := sequence(a.Name, a.v, "write True, or [True, False]")
	if err != nil {
		return err
	}
	if len(list) != len(to) {
		return fmt.Errorf("%s has %d elements, at has %d; give one for each, or True for all", a.Name, len(list),
			len(to))
	}
	for i, v := range list {
		is, ok := v.(starlark.Bool)
		if !ok {
			return fmt.Errorf("%s[%d] is %s; write True or False", a.Name, i, describe(v))
		}
		to[i].Likely = bool(is)
	}
	return nil
}

func printKeySites(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
	return oneOrList(*a.At(x).(*[]scenario.LabelSite), func(t scenario.LabelSite) string {
		return p.place(t.Func, uint64(t.Offset))
	})
}

func printKeyTargets(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
	return oneOrList(*a.At(x).(*[]scenario.LabelSite), func(t scenario.LabelSite) string {
		return p.place(t.Target, uint64(t.TOff))
	})
}

func printKeyLikely(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
	list := *a.At(x).(*[]scenario.LabelSite)
	for i := range list {
		if list[i].Likely != list[0].Likely {
			return bracketed(list, func(t scenario.LabelSite) string { return truth(t.Likely) })
		}
	}
	return truth(list[0].Likely)
}

// oneOrList prints an element without brackets if it is alone.
func oneOrList[T any](list []T, print func(x T) string) string {
	if len(list) == 1 {
		return print(list[0])
	}
	return bracketed(list, print)
}
