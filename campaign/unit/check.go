package unit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/campaign/plan"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
	"kpsim/traces"
)

// The limits of a result: as JSON a few bytes become a value that takes a hundred.
const (
	mostObjects = 1 << 17
	mostLists   = 1 << 21
	mostValues  = 1 << 23
)

// Check checks the result of a unit, and returns its summary. The result comes from a stranger: all counts are taken
// from the data.
func Check(u *plan.Unit, data []byte) (s Summary, err error) {
	for c, most := range map[string]int{"{": mostObjects, "[": mostLists, ",": mostValues} {
		if u.Kind != plan.Island && bytes.Count(data, []byte(c)) > most {
			return s, errors.New("it has too many values")
		}
	}
	switch u.Kind {
	case plan.Runs:
		parts, err := Parts(u, data)
		for i := range parts {
			s.add(&parts[i])
		}
		return s, err
	case plan.Canary:
		return s, read(data, &s.Found)
	case plan.Witness:
		s.Finds, err = Finds(data)
		for i := range s.Finds { // they are among the data
			s.Finds[i].Trace = ""
		}
		return s, err
	case plan.Island:
		i, err := fuzz.ReadIsland(data)
		if err != nil {
			return s, err
		}
		if i.Round != uint64(u.From) || i.Number != uint64(u.To) {
			return s, errors.New("it is of another island")
		}
		s.island(i)
		return s, nil
	case plan.Proof:
		var p plan.Proved
		s.Runs = 1
		return s, read(data, &p)
	}
	return s, fmt.Errorf("there are no units of kind %q", plan.Clean(string(u.Kind), 10, false))
}

func read(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return errors.New(plan.Clean(err.Error(), 200, false))
	}
	return nil
}

// Parts reads the result of a unit of runs: a part for each of its shards, in their order. The contents are checked
// where the scenario is known (results.File.Check).
func Parts(u *plan.Unit, data []byte) (parts []explore.Part, err error) {
	if err := read(data, &parts); err != nil {
		return nil, err
	}
	if len(parts) != u.To-u.From {
		return nil, fmt.Errorf("it has %d parts, and the unit %d shards", len(parts), u.To-u.From)
	}
	for i := range parts {
		p := &parts[i]
		if p.Index != u.From+i {
			return nil, fmt.Errorf("part %d is of shard %d", i, p.Index)
		}
		if p.Violations > p.Runs || len(p.Broken) > len(properties.All) || len(p.After) > len(properties.All) ||
			len(p.Found) > len(properties.All) ||
			len(p.Ways) > explore.MostWays*len(properties.All) {
			return nil, fmt.Errorf("the counts of part %d can't be right", i)
		}
		for name, n := range p.Broken {
			if _, ok := properties.ByName(name); !ok || n > p.Violations {
				return nil, fmt.Errorf("part %d: no property is called %q, or it is broken too often",
					i, plan.Clean(name, 60, false))
			}
		}
		for _, list := range [][]string{p.Stats.Kinds} {
			for _, name := range list {
				if plan.Clean(name, 60, false) != name {
					return nil, fmt.Errorf("part %d has a name that isn't valid", i)
				}
			}
		}
		for k := range p.Found {
			if by := p.Found[k].By; plan.Clean(by, 200, false) != by {
				return nil, fmt.Errorf("part %d has a name that isn't valid", i)
			}
		}
		for k := range p.Ways {
			w := &p.Ways[k]
			if plan.Clean(w.Words, 4000, false) != w.Words || w.Best != nil &&
				plan.Clean(w.Best.By, 200, false) != w.Best.By {
				return nil, fmt.Errorf("part %d has a name that isn't valid", i)
			}
		}
	}
	return parts, nil
}

// Finds reads the result of a witness, at most one find per cause.
func Finds(data []byte) (finds []Find, err error) {
	if err := read(data, &finds); err != nil {
		return nil, err
	}
	if len(finds) > len(properties.All) {
		return nil, fmt.Errorf("it has %d finds, and there are %d properties", len(finds), len(properties.All))
	}
	seen := make(map[string]bool)
	for i := range finds {
		if err := finds[i].Check(); err != nil {
			return nil, err
		}
		if c := finds[i].Cause; seen[c] {
			return nil, fmt.Errorf("it has two finds of %s", c)
		}
		seen[finds[i].Cause] = true
	}
	return finds, nil
}

// The limits of a find's texts, in bytes.
const (
	mostText  = 4 << 10
	mostStory = 2_000 // lines
	mostLike  = 64    // known finds
)

// Check checks a find. Its cause becomes the name of a file, and its texts are printed.
func (f *Find) Check() error {
	p, ok := properties.ByName(f.Property)
	if !ok || p.Name != f.Property {
		return fmt.Errorf("no property is called %q", plan.Clean(f.Property, 60, false))
	}
	if len(f.Story) > mostStory {
		return fmt.Errorf("a story of %d lines", len(f.Story))
	}
	if len(f.KnownFinds) > mostLike {
		return fmt.Errorf("a find that looks like %d known ones", len(f.KnownFinds))
	}
	texts := []string{f.Scenario, f.Engine, f.Message, f.Words, f.Place}
	for _, s := range slices.Concat(texts, f.KnownFinds, f.Story) {
		if plan.Clean(s, mostText, true) != s {
			return errors.New("a find whose texts are too long, or have control characters")
		}
	}
	if f.Cause != causeOf(f) {
		return fmt.Errorf("a find of %s under a wrong name", f.Property)
	}
	if f.Deviations < 0 || f.Deviations > traces.MaxDeviations && f.Trace != "" {
		return fmt.Errorf("a find of %d deviations", f.Deviations)
	}
	if f.Trace == "" {
		return nil
	}
	t, err := trace(f.Trace)
	switch {
	case err != nil:
		return err
	case t.Property != p.ID || len(t.Schedule) != f.Deviations:
		return fmt.Errorf("a find of %s with the trace of another one", f.Property)
	}
	return nil
}

// trace reads the text of a trace.
func trace(text string) (*traces.File, error) {
	if len(text) > cli.MostTrace {
		return nil, fmt.Errorf("a trace of %d bytes", len(text))
	}
	t, err := traces.Parse("trace", []byte(text))
	if err != nil {
		return nil, errors.New(plan.Clean(err.Error(), 300, false))
	}
	if _, ok := inputs.PropertyByID(t.Property); !ok {
		return nil, fmt.Errorf("a trace of property %q, which doesn't exist", plan.Clean(t.Property, 60, false))
	}
	return t, nil
}

// Proved reads the result of a scenario's proof. It accepts only the trace that kpsim verify would write for it, and
// only if it is a trace. base is its name without folder.
func Proved(scenario string, data []byte) (p *plan.Proved, base string, err error) {
	p = new(plan.Proved)
	if err := read(data, p); err != nil {
		return nil, "", err
	}
	base = inputs.TraceName(scenario) + "-verify.kps"
	switch {
	case p.Status != cli.OK && p.Status != cli.Against && p.Status != cli.BadInput:
		return nil, "", fmt.Errorf("exit status %d", p.Status)
	case len(p.Traces) > 1:
		return nil, "", fmt.Errorf("%d traces, and a proof has one", len(p.Traces))
	}
	for _, t := range p.Traces {
		if filepath.Base(filepath.ToSlash(t.Path)) != base || strings.Contains(t.Path, "..") {
			return nil, "", fmt.Errorf("a trace %q, which isn't %s", plan.Clean(t.Path, 100, false), base)
		}
		if _, err := trace(t.Text); err != nil {
			return nil, "", err
		}
	}
	p.Out, p.Err = plan.Clean(p.Out, len(p.Out), true), plan.Clean(p.Err, len(p.Err), true)
	return p, base, nil
}
