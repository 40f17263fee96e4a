package change

import (
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
)

// A Program is a serial program with what it should answer.
type Program struct {
	Scenario *scenario.Scenario // without an engine yet
	rules    *twoengines.Answers
	kernels  *scenario.Scenario // the same for the kernel as it is
	base     *twoengines.Answers
	differs  string // how base differs from the rules, "" if it doesn't
}

// An Answer is a program that a kernel answers otherwise than the rules.
type Answer struct {
	Program *scenario.Scenario
	Says    string // the first that differs
	Before  string // what differed without the change; "" if the kernel answered by the rules
}

// Programs runs each by the rules, and on the kernel as it is. Those that it can't run, for
// what they ask for, are left out. It blocks until all have run.
func Programs(k *linux.Kernel, list []*scenario.Scenario, workers int, stop *atomic.Bool) ([]*Program, error) {
	edition := twoengines.Edition(k.Image.Release).String()
	all, err := each(list, workers, stop, func(sc *scenario.Scenario) (*Program, error) {
		kernels, ours, err := twoengines.On(sc, k, edition)
		if err != nil {
			return nil, nil // it asks for what this kernel hasn't
		}
		p := &Program{Scenario: sc, kernels: kernels}
		if p.rules, err = twoengines.Of(ours, ""); err != nil {
			return nil, nil // what a task does alone can't be run
		}
		if p.base, err = twoengines.Of(kernels, ""); err != nil {
			return nil, err
		}
		p.differs = twoengines.Differences(p.base, p.rules)
		return p, nil
	})
	return all, err
}

// Differing are the programs that the kernel as it is answers otherwise than the rules.
func Differing(all []*Program) (list []Answer) {
	for _, p := range all {
		if p.differs != "" {
			list = append(list, Answer{Program: p.Scenario, Says: p.differs})
		}
	}
	return list
}

// Changed are the programs that a changed kernel answers otherwise than the rules, and
// otherwise than the kernel as it is; mended says how many differ without the change only.
// An error is that a program can't be run on the changed kernel. It blocks until all have run.
func Changed(all []*Program, k *linux.Kernel, mutant string, workers int, stop *atomic.Bool) (list []Answer, mended int,
	err error) {
	type outcome struct {
		answer *Answer
		mended bool
	}
	out, err := each(all, workers, stop, func(p *Program) (*outcome, error) {
		sc := *p.Scenario
		if err := sc.SetLinux(k); err != nil {
			return nil, err
		}
		got, err := twoengines.Of(&sc, mutant)
		if err != nil {
			return nil, err
		}
		says := twoengines.Differences(got, p.rules)
		switch {
		case says == "":
			return &outcome{mended: p.differs != ""}, nil
		case twoengines.Differences(got, p.base) == "":
			return nil, nil
		}
		return &outcome{answer: &Answer{Program: p.Scenario, Says: says, Before: p.differs}}, nil
	})
	for _, o := range out {
		if o.answer != nil {
			list = append(list, *o.answer)
		} else if o.mended {
			mended++
		}
	}
	return list, mended, err
}

// each does something with all of a list, and returns what isn't nil, in the list's order.
func each[T, R any](list []T, workers int, stop *atomic.Bool, do func(T) (*R, error)) (out []*R, first error) {
	results, errors := make([]*R, len(list)), make([]error, len(list))
	parallel.Run(workers, len(list), stop, func() (func(job int), func()) {
		return func(i int) {
			if !stop.Load() {
				results[i], errors[i] = do(list[i])
			}
		}, func() {}
	})
	for i := range list {
		if errors[i] != nil {
			return out, errors[i]
		}
		if results[i] != nil {
			out = append(out, results[i])
		}
	}
	return out, nil
}
