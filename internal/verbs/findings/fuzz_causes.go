package findings

import (
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/search/cause"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sim"
)

// The constants limit how much a session spends on programs that break the same property with
// the same message as earlier ones. A known cause may hide another one.
const (
	looksShare = 2         // looks may ask one question for two asked by the session's runs; so may looks behind finds
	lookAsks   = 1_000_000 // fixed cost of a look: machines are built, and stories are made
	kindsMost  = 256       // kinds that are distinguished
	causesMost = 64        // causes that are printed
)

// A fuzzKind is the programs that break a property with findings that are equal except for
// numbers, places and names.
type fuzzKind struct {
	programs uint64
	looked   uint64 // programs of the kind whose cause is known
	asked    uint64 // questions asked to find these causes
}

// A kindOf identifies a fuzzKind.
type kindOf struct {
	property string
	kind     uint64
}

// A fuzzCause is a cause that some programs have shown.
type fuzzCause struct {
	find   *fuzzFind
	looked uint64 // examined programs that have this cause
}

// fuzzCauses holds the kinds and causes of a session. They depend only on its programs and
// their order.
type fuzzCauses struct {
	kinds               map[kindOf]*fuzzKind
	of                  map[string]*fuzzCause // by cause.Key
	all                 []*fuzzCause          // in the order in which they were found
	beyond, beyondAsked uint64                // looks behind known finds, and the questions that they asked

	more uint64 // causes that aren't printed, and programs of kinds that aren't distinguished
}

// start begins to count.
func (c *Fuzz) start() {
	c.of = make(map[rules.Edition]*fuzzRow)
	c.causes.kinds, c.causes.of = make(map[kindOf]*fuzzKind), make(map[string]*fuzzCause)
}

// A look examines a program that breaks a property, for the cause.
type look struct {
	one   *fuzz.Program
	broke fuzz.Broke
	name  string          // the program's name
	w     *shrink.Witness // nil: the program, run again, doesn't break the property
	cause *cause.Cause
	asked uint64
	again bool // not the first of its kind

	past   []string // the known finds after which its runs go on
	goPast bool     // whether to look behind it, if its cause is known
	behind []*look  // what the program breaks if its runs go on after a known find
	beyond uint64   // questions asked for these
	left   bool     // the time was up before it began
	err    error
}

// planLooks lists the programs of a batch to examine: the first of each kind, and as many others
// as the number of questions asked by the session so far allows. It allows as many again for what lies
// behind known finds of the others. If late is set, only the first of each kind are examined.
func (c *Fuzz) planLooks(list []*fuzz.Program, late bool) (looks []*look) {
	type planned struct{ looks, asked uint64 }
	plan := make(map[kindOf]planned)
	kinds, past := uint64(len(c.causes.kinds)), max(c.causes.beyondAsked/max(c.causes.beyond, 1), lookAsks)
	beyond := c.causes.beyondAsked
	for _, one := range list {
		for _, b := range one.Broken {
			of := kindOf{b.Property, b.Kind}
			k, now := c.causes.kinds[of], plan[of]
			if k == nil {
				k = new(fuzzKind)
				if now.looks == 0 {
					kinds++
				}
			}
			looked, asked := k.looked+now.looks, k.asked+now.asked
			each := max(asked/max(looked, 1), lookAsks)
			deep := looked > 0 && beyond+past <= c.total.Points/looksShare
			switch {
			case looked == 0 && kinds > kindsMost, looked > 0 && late:
				continue
			case looked > 0 && asked+each > c.total.Points/looksShare/kinds && !deep:
				continue
			}
			plan[of] = planned{now.looks + 1, now.asked + each}
			if deep {
				beyond += past
			}
			looks = append(looks, &look{one: one, broke: b, again: looked > 0, goPast: deep})
		}
	}
	return looks
}

// makeLooks makes looks. The result doesn't depend on which worker makes one.
func (c *Fuzz) makeLooks(p *cli.Program, looks []*look) error {
	defer func() {
		v := recover()
		if crash, ok := v.(*parallel.Crash); ok {
			l := looks[crash.Job]
			p.Again = c.line(&l.one.Recipe, l.one.Runs)
		}
		if v != nil {
			panic(v)
		}
	}()
	parallel.Run(c.Workers, len(looks), new(atomic.Bool), func() (func(int), func()) {
		return func(i int) {
			if l := looks[i]; c.stop.Load() || l.again && c.late.Load() {
				l.left = true
			} else {
				l.err = c.makeLook(l)
			}
		}, func() {}
	})
	for _, l := range looks {
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

// makeLook shrinks a program's violation of a property, and finds its cause.
func (c *Fuzz) makeLook(l *look) error {
	spec, err := c.session.Explore(&l.one.Recipe, l.broke.First+1)
	if err != nil {
		return err
	}
	spec.From, spec.Blind, l.name = l.broke.First, true, spec.Scenario.Name
	res, err := explore.Run(spec)
	if err != nil {
		return err
	}
	l.asked = lookAsks + res.Counts.Points
	found := slices.DeleteFunc(res.Found(), func(f shrink.Found) bool { return f.Property != l.broke.Property })
	if len(found) == 0 {
		return nil
	}
	list, err := shrink.Witnesses(spec.Origin(), found)
	if err != nil {
		return err
	}
	if err := l.find(list[0]); err != nil || !l.cause.Known() || !l.goPast {
		return err
	}
	if spec, err = c.session.Explore(&l.one.Recipe, l.one.Runs); err != nil {
		return err
	}
	return l.lookBehind(spec)
}

// find finds the cause of a witness.
func (l *look) find(w *shrink.Witness) (err error) {
	l.w = w
	if l.cause, err = cause.Of(w, l.name); err == nil {
		l.asked += w.Asked + l.cause.Asked
	}
	return err
}

// lookBehind looks at what the program breaks when its runs go on after finds whose cause is known.
func (l *look) lookBehind(spec explore.Spec) (err error) {
	l.behind, err = behind(spec)
	for _, b := range l.behind {
		b.one, b.name = l.one, l.name
		l.beyond += b.asked
	}
	l.beyond = max(l.beyond, lookAsks)
	return err
}

// behind explores a scenario, again and again, so that its runs go on after the finds whose cause is known. It returns
// the finds, those too that are known, each with the known ones that it may be behind.
func behind(spec explore.Spec) (list []*look, err error) {
	res, err := explore.Run(spec)
	if err != nil {
		return nil, err
	}
	res, known, err := cause.Behind(spec, nil, res)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	asked := lookAsks + res.Counts.Points // of one exploration
	var past []string
	for i := range known {
		k := &known[i]
		list = append(list, &look{w: k.Witness, cause: k.Cause, past: slices.Clone(past), asked: asked})
		if !k.Ends {
			spec.Known, past = append(spec.Known, k.As), append(past, k.Like...)
		}
	}
	witnesses, err := shrink.Witnesses(spec.Origin(), res.Found())
	for _, w := range witnesses {
		l := &look{name: spec.Scenario.Name, past: past, asked: asked}
		if err := l.find(w); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, err
}

// takeLooks takes the looks at a program, in their order, and prints what is new.
func (c *Fuzz) takeLooks(p *cli.Program, one *fuzz.Program, looks []*look, clear func()) error {
	for _, b := range one.Broken {
		of := kindOf{b.Property, b.Kind}
		k := c.causes.kinds[of]
		if k == nil {
			if len(c.causes.kinds) == kindsMost {
				c.causes.more++
				continue
			}
			k = new(fuzzKind)
			c.causes.kinds[of] = k
		}
		k.programs++
		i := slices.IndexFunc(looks, func(l *look) bool { return l.one == one && l.broke == b && !l.left })
		if i < 0 {
			continue
		}
		l := looks[i]
		if l.w == nil {
			sim.Bug("%s breaks %s in run %d, and not when it is run again: %s", one.Recipe.Marshal(), b.Property,
				b.First, c.line(&one.Recipe, one.Runs))
		}
		k.looked++
		k.asked += l.asked
		if l.beyond > 0 {
			c.causes.beyond, c.causes.beyondAsked = c.causes.beyond+1, c.causes.beyondAsked+l.beyond
		}
		for _, l := range append([]*look{l}, l.behind...) {
			if err := c.causes.take(l, func() (*fuzzFind, error) {
				clear()
				return c.save(p, l)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// take counts the cause of a look, and saves it if it is new.
func (c *fuzzCauses) take(l *look, save func() (*fuzzFind, error)) error {
	if f := c.of[l.cause.Key()]; f != nil {
		f.looked++
		return nil
	}
	if len(c.all) == causesMost {
		c.more++
		return nil
	}
	find, err := save()
	if err != nil {
		return err
	}
	f := &fuzzCause{find, 1}
	c.of[l.cause.Key()] = f
	c.all = append(c.all, f)
	return nil
}

// newFirst lists the causes: first those that resemble no known find, then by property.
func (c *Fuzz) newFirst() []*fuzzCause {
	list := slices.Clone(c.causes.all)
	slices.SortStableFunc(list, func(a, b *fuzzCause) int {
		if known := len(a.find.Like) > 0; known != (len(b.find.Like) > 0) {
			if known {
				return 1
			}
			return -1
		}
		return rankOf(a.find.Property) - rankOf(b.find.Property)
	})
	return list
}

func rankOf(name string) int {
	return slices.IndexFunc(properties.All, func(q *properties.Property) bool { return q.Name == name })
}

// countsOf counts the programs that break a property, and those that were examined.
func (c *fuzzCauses) countsOf(name string) (programs, looked uint64) {
	for of, k := range c.kinds {
		if of.property == name {
			programs, looked = programs+k.programs, looked+k.looked
		}
	}
	return programs, looked
}

// A causeRow is the final entry for a cause in --json.
type causeRow struct {
	Property string   `json:"property"`
	Like     []string `json:"like,omitempty"`
	Behind   []string `json:"behind,omitempty"` // as fuzzFind.Behind
	New      bool     `json:"new"`              // it resembles no known find
	Program  string   `json:"program"`
	Trace    string   `json:"trace,omitempty"`
	Shown    uint64   `json:"programs"`  // out of Looked, the programs with this cause
	Looked   uint64   `json:"looked_at"` // out of Broken
	Broken   uint64   `json:"programs_broken"`
}

// rows returns the causes, the new ones first.
func (c *Fuzz) rows() (list []causeRow) {
	for _, f := range c.newFirst() {
		programs, looked := c.causes.countsOf(f.find.Property)
		list = append(list, causeRow{f.find.Property, f.find.Like, f.find.Behind, f.find.Like == nil, f.find.Program,
			f.find.Trace, f.looked, max(looked, f.looked), max(programs, f.looked)})
	}
	return list
}

// printCauses prints the causes, if there is more than one.
func (c *Fuzz) printCauses(p *cli.Program) {
	if len(c.causes.all) < 2 {
		return
	}
	for i, r := range c.rows() {
		is := "no known find"
		if f := c.newFirst()[i].find; f.Like != nil {
			is = c.resemblance(f)
		}
		p.Indented("", fmt.Sprintf("%s, like %s: %s; %d of %s looked at, of %d that break it", r.Property, is,
			r.Program, r.Shown, cli.Number(r.Looked, "program"), r.Broken))
	}
	if c.causes.more > 0 {
		p.Indented("", fmt.Sprintf("not shown: %s; at most %d causes are", cli.Number(c.causes.more, "further program"),
			causesMost))
	}
}
