package change

import (
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
)

// A Program is a serial program with its expected answers.
type Program struct {
	Scenario *scenario.Scenario // without an engine yet
	rules    *twoengines.Answers
	kernels  *scenario.Scenario // the same scenario for the unchanged kernel
	base     *twoengines.Answers
	differs  string // how the unchanged kernel differs from the rules; "" if it doesn't
}

// An Answer is a program whose answers under a kernel differ from the rules.
type Answer struct {
	Program *scenario.Scenario
	Says    string // the first difference
	Before  string // the difference without the change; "" if there was none

	kind string // of a handling: what counts as the same
	more int    // number of other questions of this kind
}

// Programs runs each scenario by the rules and on the unchanged kernel. It omits those that can't
// run because of what they use. It blocks until all have run.
func Programs(k *linux.Kernel, list []*scenario.Scenario, workers int, stop *atomic.Bool) ([]*Program, error) {
	return new(Baseline).Programs(k, list, workers, stop)
}

// Programs is the function of that name, but for programs whose answers are kept.
func (b *Baseline) Programs(k *linux.Kernel, list []*scenario.Scenario, workers int, stop *atomic.Bool) ([]*Program,
	error) {
	all, err := each(list, workers, stop, func(sc *scenario.Scenario) (*Program, error) {
		kernels, ours, err := twoengines.On(sc, k)
		if err != nil {
			return nil, nil // it uses something that this kernel lacks
		}
		p := &Program{Scenario: sc, kernels: kernels}
		var was answeredBase
		name := ""
		if b.kernel == k {
			name = b.programName(ours, kernels)
		}
		if name == "" || !b.has(name, &was) {
			if was.Rules, err = twoengines.Answer(ours, ""); err != nil {
				was.Left = true // the serial form can't be run
			} else if was.Base, err = twoengines.Answer(kernels, ""); err != nil {
				return nil, err
			}
			if name != "" {
				b.keeps(name, &was)
			}
		}
		if was.Left {
			return nil, nil
		}
		p.rules, p.base = was.Rules, was.Base
		p.differs = twoengines.Differences(p.base, p.rules)
		return p, nil
	})
	return all, err
}

// Differing returns the programs whose answers under the unchanged kernel differ from the rules.
func Differing(all []*Program) (list []Answer) {
	for _, p := range all {
		if p.differs != "" {
			list = append(list, Answer{Program: p.Scenario, Says: p.differs})
		}
	}
	return list
}

// Changed returns the programs whose answers under a changed kernel match neither the rules nor
// the unchanged kernel. mended is the number of programs that differ only without the change. The
// error is a program that can't be run on the changed kernel. It blocks until all have run.
func Changed(all []*Program, k *linux.Kernel, mutant string, workers int, stop *atomic.Bool) (list []Answer, mended int,
	err error) {
	type outcome struct {
		answer *Answer
		mended bool
	}
	out, err := each(all, workers, stop, func(p *Program) (*outcome, error) {
		sc, _, err := twoengines.On(p.Scenario, k)
		if err != nil {
			return nil, err
		}
		got, err := twoengines.Answer(sc, mutant)
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

// each calls do for each element of a list and returns the results that aren't nil, in the list's
// order.
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
