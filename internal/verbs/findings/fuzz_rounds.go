package findings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/properties"
)

// FuzzRounds describes, as data, a fuzzing session that is divided among computers: how it is
// divided, and those flags of Fuzz that change what is found or when the session ends.
type FuzzRounds struct {
	Islands uint64   `json:"islands"`         // islands per round
	Size    uint64   `json:"size"`            // programs per island
	Start   []string `json:"start,omitempty"` // the recipes of the first programs

	Seed         uint64   `json:"seed"` // the seed of the first program that isn't made from another
	Each         uint64   `json:"each"`
	Edition      string   `json:"edition,omitempty"`
	Preempt      string   `json:"preempt,omitempty"`
	Arch         string   `json:"arch,omitempty"`
	Memory       string   `json:"memory,omitempty"`
	Strategy     string   `json:"strategy,omitempty"`
	Mutant       string   `json:"mutant,omitempty"`
	AsShipped    bool     `json:"as_shipped,omitempty"`
	Fresh        bool     `json:"fresh,omitempty"`
	Without      []string `json:"without,omitempty"`
	Programs     uint64   `json:"programs,omitempty"`
	Runs         uint64   `json:"runs,omitempty"`
	UntilCovered uint64   `json:"until_covered,omitempty"`
}

// ErrUntrue means that an island claims a result which its programs, run again, don't show.
var ErrUntrue = errors.New("run again, it isn't so")

// Plan divides the session of the flags into rounds, and checks everything that can be known
// before the first program is run. Only Plan reads the corpus. Errors are about the input.
func (c *Fuzz) Plan(islands, size uint64) (*FuzzRounds, error) {
	switch {
	case c.For > 0:
		return nil, errors.New("--for: rounds don't end by time, else they would differ from computer to " +
			"computer; give --programs, --runs or --until-covered")
	case c.Recipe != "":
		return nil, errors.New("--recipe: one program has no rounds; leave it out")
	case c.Print:
		return nil, errors.New("--print: it prints one program, which has no rounds; leave it out")
	}
	list, next, err := c.corpus()
	if err != nil {
		return nil, err
	}
	r := &FuzzRounds{
		Islands: islands, Size: size, Seed: next, Each: c.Each, Edition: c.Edition, Preempt: c.Preempt,
		Arch:   c.Arch,
		Memory: c.Memory, Strategy: c.Strategy, Mutant: c.Mutant,
		AsShipped: c.AsShipped, Fresh: c.Fresh, Without: c.Without, Programs: c.Programs, Runs: c.Runs,
		UntilCovered: c.UntilCovered,
	}
	for i := range list {
		r.Start = append(r.Start, string(list[i].Marshal()))
	}
	return r, c.Begin(r)
}

// Begin begins the session of a plan, here or on another computer. There c has no flags yet
// except those for the paths of the kernel and its objects. It writes nothing.
func (c *Fuzz) Begin(r *FuzzRounds) error {
	c.Seed, c.Each, c.Edition, c.Preempt, c.Memory, c.Strategy, c.Mutant, c.AsShipped, c.Fresh = r.Seed, r.Each,
		r.Edition, r.Preempt, r.Memory, r.Strategy, r.Mutant, r.AsShipped, r.Fresh
	c.Arch, c.Without = r.Arch, r.Without
	c.Programs, c.Runs, c.UntilCovered = r.Programs, r.Runs, r.UntilCovered
	if r.Each == 0 {
		return errors.New("a program has one run at least")
	}
	spec, err := c.spec()
	c.For = 0 // spec sets the default
	if err != nil {
		return err
	}
	spec.Rounds = fuzz.Rounds{Islands: r.Islands, Programs: r.Size}
	for i, text := range r.Start {
		one, err := gen.ReadRecipe([]byte(text))
		if err != nil {
			return fmt.Errorf("recipe %d of the rounds: %w", i, err)
		}
		spec.Rounds.Start = append(spec.Rounds.Start, one)
	}
	c.session, err = fuzz.New(spec)
	return err
}

// Stop ends the islands that are being made, without a result. It may be called while another
// goroutine is in Island.
func (c *Fuzz) Stop() { c.late.Store(true) }

// Island makes an island (fuzz.Session's Island). Several goroutines may call it, also while one
// is in Fold or FoldAndReport. The report of a bug names the command that runs the program in which it
// happened.
func (c *Fuzz) Island(p *cli.Program, round, number uint64) (*fuzz.Island, error) {
	var now gen.Recipe
	defer func() {
		if v := recover(); v != nil {
			p.Again = c.line(&now, c.Each)
			panic(v)
		}
	}()
	return c.session.Island(round, number, func(r *gen.Recipe) { now = *r })
}

// Check returns what is impossible in an island that comes from another computer. It may be
// called at the same times as Island, also for an island that isn't folded next.
func (c *Fuzz) Check(i *fuzz.Island) error {
	_, err := c.session.Read(i)
	return err
}

// Folded returns which island is folded next.
func (c *Fuzz) Folded() (round, number uint64) { return c.session.Folded() }

// Coverage returns the coverage of the folded islands.
func (c *Fuzz) Coverage() fuzz.Coverage { return c.session.Coverage() }

// Fold folds the next island, and prints nothing. Computers that only make islands call it.
func (c *Fuzz) Fold(i *fuzz.Island) error {
	_, err := c.session.Fold(i, nil)
	return err
}

// FoldAndReport folds the next island and reports what it is the first to find, as Run does: it writes
// witnesses and the corpus, and prints. The output depends on the islands alone. An error that
// is ErrUntrue is about the island, and leaves everything unchanged.
func (c *Fuzz) FoldAndReport(p *cli.Program, i *fuzz.Island) error {
	if c.of == nil {
		if err := cli.MakeFolder(c.Traces); err != nil {
			return err
		}
		c.start()
	}
	p.Doing = fmt.Sprintf("programs of island %d of round %d", i.Number, i.Round)
	list, err := c.session.Fold(i, func(list []*fuzz.Program) error { return c.verifyClaims(p, list) })
	if err != nil {
		return err
	}
	for _, one := range list {
		if err := c.takeProgram(p, one, c.seen, func() {}); err != nil {
			return err
		}
	}
	c.seen = nil
	c.sample()
	return c.keep(list)
}

// verifyClaims runs again the programs that are examined, and describes all.
func (c *Fuzz) verifyClaims(p *cli.Program, list []*fuzz.Program) error {
	like := make(map[string]bool)
	for n, one := range list {
		if one.Refused {
			continue
		}
		if err := c.session.Describe(one); err != nil {
			return fmt.Errorf("program %d: it isn't said to be refused, and is: %w: %w", n, ErrUntrue, err)
		}
		if one.Otherwise != "" && c.answers[one.Like] == 0 && !like[one.Like] {
			if says, as := c.session.Answers(one); says != one.Otherwise || as != one.Like {
				return fmt.Errorf("program %d: answers: %w", n, ErrUntrue)
			}
			like[one.Like] = true
		}
	}
	c.seen = c.planLooks(list, false)
	if err := c.makeLooks(p, c.seen); err != nil {
		return err
	}
	for _, l := range c.seen {
		if l.w == nil {
			return fmt.Errorf("program %d: it breaks %s: %w", slices.Index(list, l.one), l.broke.Property, ErrUntrue)
		}
	}
	return nil
}

// Done reports whether FoldAndReport has folded as many islands as the flags ask for, or each of their
// runs has broken something.
func (c *Fuzz) Done() bool {
	return c.limitsReached() || c.session.Hopeless()
}

// End prints the totals of the islands that FoldAndReport has folded, as Run does at its end, except
// for the duration. again is the command line shown on the page. It returns the exit status.
func (c *Fuzz) End(p *cli.Program, again string) (int, error) {
	if c.total.Programs == 0 {
		return 0, errors.New("no program was run")
	}
	c.command = again
	return c.end(p, 0, c.session.Hopeless())
}

// A FuzzClaim is a program of an island that is said to break a property. An island claims the
// first program that breaks it with a given message, the second, the fourth, and so on,
// because a known cause may hide another one.
type FuzzClaim struct {
	Property string `json:"property"`
	Recipe   string `json:"recipe"`
	Runs     uint64 `json:"runs"` // runs of the program; the last one shows the violation
}

// Count folds the next island, as Fold does, and returns its claims. The island counts for Done.
// Count accepts what FoldAndReport would: an error leaves everything unchanged.
func (c *Fuzz) Count(p *cli.Program, i *fuzz.Island) (claims []FuzzClaim, err error) {
	if c.causes.kinds == nil {
		c.start()
		c.answers = make(map[string]uint64)
	}
	list, err := c.session.Fold(i, func(list []*fuzz.Program) error { return c.verifyClaims(p, list) })
	c.seen = nil
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		if one.Refused {
			continue
		}
		if one.Otherwise != "" {
			c.answers[one.Like]++
		}
		c.total.Programs++
		c.total.Runs += one.Runs
		for _, b := range one.Broken {
			of := kindOf{b.Property, b.Kind}
			k := c.causes.kinds[of]
			if k == nil {
				if len(c.causes.kinds) == kindsMost {
					continue
				}
				k = new(fuzzKind)
				c.causes.kinds[of] = k
			}
			if k.programs++; k.programs&(k.programs-1) == 0 {
				claims = append(claims, FuzzClaim{b.Property, string(one.Recipe.Marshal()), b.First + 1})
			}
		}
	}
	return claims, nil
}

// Total returns the numbers of programs and runs that were counted.
func (c *Fuzz) Total() (programs, runs uint64) { return c.total.Programs, c.total.Runs }

// Witness shrinks the violation of a claim; scenario is its program. ErrUntrue means that the
// claim is false.
func (c *Fuzz) Witness(p *cli.Program, claim *FuzzClaim) (w *shrink.Witness, scenario string, err error) {
	q, ok := properties.ByName(claim.Property)
	if !ok {
		return nil, "", fmt.Errorf("no property is called %q", claim.Property)
	}
	r, err := gen.ReadRecipe([]byte(claim.Recipe))
	if err != nil {
		return nil, "", err
	}
	if claim.Runs == 0 || claim.Runs > claimMost {
		return nil, "", fmt.Errorf("a claim of %d runs", claim.Runs)
	}
	p.Again = c.line(&r, claim.Runs)
	l := &look{one: &fuzz.Program{Recipe: r, Runs: claim.Runs},
		broke: fuzz.Broke{Property: q.Name, Runs: 1, First: claim.Runs - 1}}
	if err = c.makeLook(l); err == nil && l.w == nil {
		err = fmt.Errorf("%s: %w", q.Name, ErrUntrue)
	}
	if err != nil {
		return nil, "", err
	}
	return l.w, l.name, nil
}

// claimMost exceeds the number of runs of any program that is drawn.
const claimMost = 1 << 40

// durationText returns how long programs will be drawn, as text.
func (c *Fuzz) durationText() string {
	var until []string
	for i, s := range []string{
		fmt.Sprintf("%v are over", c.For), cli.Number(c.Runs, "schedule") + " were run",
		cli.Number(c.Programs, "program") + " were run",
		fmt.Sprintf("of a thousand programs more %d or fewer would show something new", c.UntilCovered),
	} {
		if c.limits()[i] {
			until = append(until, s)
		}
	}
	return "drawn programs, until " + strings.Join(until, ", or ")
}
