package inputs

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
)

// The observations, as litmus tests name them.
const (
	Never     = "Never"
	Sometimes = "Sometimes"
)

func PropertyNames() []string {
	var names []string
	for _, p := range properties.All {
		names = append(names, p.Name)
	}
	return names
}

func StrategyNames() []string {
	var names []string
	for _, s := range sched.All {
		names = append(names, s.Name)
	}
	return names
}

// OptionalMemory parses the value of --memory; "" is the default.
func OptionalMemory(name string) (o smp.Ordering, err error) {
	if name != "" {
		if o, err = scenario.ParseMemory(name); err != nil {
			return o, fmt.Errorf("--memory: %w", err)
		}
	}
	return o, nil
}

// WeakMemory returns the name of a memory model other than the default sc, which is "".
func WeakMemory(o smp.Ordering) string {
	if o == smp.SC {
		return ""
	}
	return o.String()
}

// KnownEdition is Known for an edition. For a kernel's version it names the editions before and
// after.
func KnownEdition(name string, names []string) error {
	err := cli.Known("edition", name, names)
	if around := between(name, names); err != nil && around != "" {
		return fmt.Errorf("no edition is called %q; %s; %s editions prints what each sets", name, around, cli.Typed())
	}
	return err
}

// between says where a kernel's version lies among the editions named after versions, oldest
// first. It returns "" for anything else.
func between(name string, names []string) string {
	v, ok := version(name)
	if !ok {
		return ""
	}
	var older, newer string
	for _, n := range names {
		switch e, ok := version(n); {
		case !ok:
		case slices.Compare(e[:], v[:]) <= 0:
			older = n
		case newer == "":
			newer = n
		}
	}
	switch {
	case older == "":
		return "the oldest is " + newer
	case newer == "":
		return "the newest is " + older
	}
	return fmt.Sprintf("those about that kernel are %s and %s", older, newer)
}

// version reads the first two numbers of a kernel's version: 6.1 from v6.1.192-amd64.
func version(name string) (v [2]int, ok bool) {
	n, _ := fmt.Sscanf(strings.TrimPrefix(name, "v"), "%d.%d", &v[0], &v[1])
	return v, n > 0
}

func EditionNames() []string {
	var names []string
	for e := rules.Edition(0); e <= rules.Edition69; e++ {
		if name := e.String(); name != "" { // the absence of an edition has no name
			names = append(names, name)
		}
	}
	return names
}

func PropertyByID(id string) (*properties.Property, bool) {
	for _, q := range properties.All {
		if q.ID == id {
			return q, true
		}
	}
	return nil, false
}
