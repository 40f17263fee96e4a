package results

import (
	"errors"
	"fmt"
	"slices"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces"
)

// Check verifies that the parts of a file are results of the spec's scenario: the counts must add
// up, and each run said to break a property must do so when repeated. The file may have been
// edited, including its checksum. The error is one line that names the file, the scenario and the
// part.
func (r *File) Check(spec explore.Spec, e *Explored) error {
	for i := range e.Parts {
		p := &e.Parts[i]
		if err := checkPart(&spec, p, e.Runs); err != nil {
			return fmt.Errorf("%s: scenario %s, part %d: %w; it was edited, or made by another kpsim: make it again",
				e.from, e.Name, p.Index, err)
		}
	}
	return nil
}

// checkPart returns an error if a part is impossible.
func checkPart(spec *explore.Spec, p *explore.Part, runs uint64) error {
	sources := 0
	if p.Stats.Sources != nil {
		sources = len(p.Stats.Sources)
	}
	switch n := len(spec.Scenario.Probes); {
	case p.Index < 0 || p.Index >= spec.Dealt:
		return fmt.Errorf("there are parts 0 to %d only", spec.Dealt-1)
	case p.Runs > runs:
		return fmt.Errorf("it has %d runs, and all parts together %d", p.Runs, runs)
	case p.Violations > p.Runs:
		return fmt.Errorf("%d of %d runs break a property", p.Violations, p.Runs)
	case p.Violations > 0 && p.First >= runs:
		return fmt.Errorf("the first violation is run %d of %d", p.First, runs)
	case len(p.Probes) != n && (len(p.Probes) > 0 || p.Runs > 0):
		return fmt.Errorf("it tells of %d probes, and the scenario has %d", len(p.Probes), n)
	case sources > len(spec.Scenario.Sources):
		return fmt.Errorf("it tells of %d sources of interrupts, and the scenario has %d", sources,
			len(spec.Scenario.Sources))
	}
	if err := checkBroken(spec, p); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for i := range p.Found {
		f := &p.Found[i]
		if p.Broken[f.Property] == 0 || seen[f.Property] {
			return fmt.Errorf("run %d: %q isn't a property that is broken, or it is told twice", f.Number, f.Property)
		}
		seen[f.Property] = true
		if _, err := checkFound(spec, f); err != nil {
			return fmt.Errorf("run %d: %w", f.Number, err)
		}
	}
	return checkWays(spec, p)
}

// checkWays returns an error if the ways in which a part's properties were broken are impossible.
func checkWays(spec *explore.Spec, p *explore.Part) error {
	type way struct{ property, words string }
	seen, of, runs := make(map[way]bool), make(map[string]int), make(map[string]uint64)
	for i := range p.Ways {
		w := &p.Ways[i]
		if seen[way{w.Property, w.Words}] || of[w.Property] == explore.MostWays {
			return fmt.Errorf("it has a way to break %q twice, or more than %d", w.Property, explore.MostWays)
		}
		seen[way{w.Property, w.Words}] = true
		of[w.Property]++
		if n := p.Broken[w.Property]; w.Runs == 0 || w.Runs > n || runs[w.Property] > n-w.Runs {
			return fmt.Errorf("the ways to break %q have more runs than the property, or none", w.Property)
		}
		runs[w.Property] += w.Runs
		f := w.Best
		if f == nil {
			k := slices.IndexFunc(p.Found, func(f shrink.Found) bool { return f.Property == w.Property })
			f = &p.Found[k]
		}
		if f.Property != w.Property {
			return fmt.Errorf("run %d: it breaks %q, and is there for %q", f.Number, f.Property, w.Property)
		}
		words, err := checkFound(spec, f)
		if err != nil {
			return fmt.Errorf("run %d: %w", f.Number, err)
		}
		if words != w.Words {
			return fmt.Errorf("run %d: made again its finding reads %q", f.Number, words)
		}
	}
	return nil
}

// checkBroken returns an error if the numbers of runs that break each property are impossible. A
// run breaks one property or, where it goes on, several, of which one comes first.
func checkBroken(spec *explore.Spec, p *explore.Part) error {
	all, first := uint64(0), uint64(0)
	for name, n := range p.Broken {
		if _, ok := properties.ByName(name); !ok {
			return fmt.Errorf("no property is called %q", name)
		}
		if n == 0 || n > p.Violations {
			return fmt.Errorf("the runs that break one property each aren't %d in all: %d break %s", p.Violations, n,
				name)
		}
		if p.After[name] > n {
			return fmt.Errorf("%d of %d runs break %s after another property", p.After[name], n, name)
		}
		all, first = all+n, first+n-p.After[name]
	}
	for name := range p.After {
		if p.Broken[name] == 0 {
			return fmt.Errorf("no run breaks %q, but some do after another property", name)
		}
	}
	goesOn := spec.Ignore|spec.Past != 0
	if first > p.Violations || all < p.Violations || !goesOn && (all > p.Violations || len(p.After) > 0) {
		return fmt.Errorf("the runs that break one property each aren't %d in all", p.Violations)
	}
	if len(p.Found) != len(p.Broken) {
		return fmt.Errorf("%d properties are broken; it tells %d of them", len(p.Broken), len(p.Found))
	}
	return nil
}

// checkFound repeats a run and returns its finding in plain words (rig.Plain).
func checkFound(spec *explore.Spec, f *shrink.Found) (words string, err error) {
	q, after, rec, err := f.Recording()
	if err != nil {
		return "", err
	}
	rig, err := spec.NewRig()
	if err != nil {
		return "", err
	}
	defer rig.Close()
	defer func() {
		v := recover()
		d, left := v.(*sched.Divergence)
		if err, ok := v.(error); ok && !left {
			left = errors.As(err, &d)
		}
		switch {
		case left:
			err = fmt.Errorf("its choices don't fit: %v", d)
		case v != nil:
			panic(v)
		}
	}()
	run := rig.Play(sched.NewExact(rec))
	var found *traces.Finding
	run.EachBroken(func(p *properties.Property, finding *traces.Finding, before properties.Set) {
		if p == q && before == after {
			found = finding
		}
	})
	switch {
	case found == nil:
		return "", fmt.Errorf("made again it doesn't break %s", q.Name)
	case run.Digest != f.Digest:
		return "", fmt.Errorf("made again it has digest %016x, not %016x", run.Digest, f.Digest)
	case found.Slow != f.Slow || found.Place != f.Place || found.Message != f.Message || run.Outcome != f.Outcome:
		return "", fmt.Errorf("made again it breaks %s otherwise", q.Name)
	}
	return rig.Plain(found.Message), nil
}
