package findings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/pairs"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/verdict"
)

// A fuzzAnswer is the printed result of a program whose answers from a kernel differ from the
// rules.
type fuzzAnswer struct {
	Otherwise string `json:"otherwise"`
	Like      string `json:"like,omitempty"` // the known difference that explains it
	Program   string `json:"program"`
	Recipe    string `json:"recipe"`
}

// reportAnswer reports the first program whose answers differ from the rules, and the first one
// for each known difference. It saves the program's recipe.
func (c *Fuzz) reportAnswer(p *cli.Program, one *fuzz.Program, clear func()) error {
	if one.Otherwise == "" {
		return nil
	}
	if one.Like == "" {
		c.total.Otherwise++
	}
	if c.answers == nil {
		c.answers = make(map[string]uint64)
	}
	if c.answers[one.Like]++; c.answers[one.Like] > 1 {
		return nil
	}
	sc, _, err := c.session.Scenario(&one.Recipe)
	if err != nil {
		return err
	}
	a := fuzzAnswer{one.Otherwise, one.Like, sc.Name,
		filepath.Join(c.Traces, inputs.TraceName("answers-"+sc.Name)+".recipe")}
	if err := cli.WriteWhole(a.Recipe, one.Recipe.Marshal()); err != nil {
		return err
	}
	clear()
	judgeAnswer(c, p, &a)
	if c.JSON {
		return p.PrintJSON(a)
	}
	known := "not as is known"
	if a.Like != "" {
		known = "as is known (docs/two-engines.md): " + a.Like
	}
	_, err = fmt.Fprintf(p.Out, "%s answers otherwise than by the rules, %s: %s\n", a.Program, known, a.Recipe)
	for line := range strings.SplitSeq(a.Otherwise, "\n") {
		p.Indented(cli.Indent, line)
	}
	return err
}

// printAnswers prints how many programs got answers from a kernel that differ from the rules.
func (c *Fuzz) printAnswers(p *cli.Program) {
	var words []string
	for name, n := range c.answers {
		if name == "" {
			name = "not as is known"
		}
		words = append(words, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(words)
	if words != nil {
		p.Indented("", "programs answered otherwise than by the rules: "+strings.Join(words, ", "))
	}
}

// unreached returns what no program has reached, as lines: with a kernel, blocks of each of its
// functions; without one, states of each operation's object.
func (c *Fuzz) unreached() (lines []string) {
	if k, _ := c.Kernel.Open(); k != nil {
		list := c.session.Unreached()
		for len(list) > 0 {
			n := 0
			var places []string
			for ; n < len(list) && list[n].Func == list[0].Func; n++ {
				places = append(places, fuzz.Place(k, &list[n]))
			}
			lines = append(lines, fmt.Sprintf("%s, %s: %s", list[0].Func, cli.Number(n, "block"),
				strings.Join(slices.Compact(places), ", ")))
			list = list[n:]
		}
		return lines
	}
	for list := c.session.Unmet(); len(list) > 0; {
		n, first := 0, &list[0]
		var states []string
		for ; n < len(list) && list[n].Operation == first.Operation && list[n].Object == first.Object; n++ {
			states = append(states, list[n].State)
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %s", first.Operation, first.Object, strings.Join(states, "; ")))
		list = list[n:]
	}
	return lines
}

// excuses returns the reasons why programs aren't expected to reach the rest, with how many
// blocks or pairs each excuses.
func (c *Fuzz) excuses() (lines []string) {
	count := make(map[string]int)
	what := "pair"
	if c.Kernel.Kernel != "" {
		what = "block"
		for _, b := range c.session.Excused() {
			count[b.Why]++
		}
	} else {
		for _, p := range pairs.All() {
			count[p.Why]++
		}
		delete(count, "")
	}
	for why, n := range count {
		lines = append(lines, fmt.Sprintf("%s: %s", cli.Number(n, what), why))
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, a, _ = strings.Cut(a, ": ")
		_, b, _ = strings.Cut(b, ": ")
		return strings.Compare(a, b)
	})
	return lines
}

// printUnreached prints both.
func printUnreached(c *Fuzz, p *cli.Program) {
	for _, line := range c.unreached() {
		p.Indented("", "never reached: "+line)
	}
	for _, line := range c.excuses() {
		p.Indented("", "not expected: "+line)
	}
}

// pageUnreached returns the section of the page about it.
func pageUnreached(c *Fuzz) page.Section {
	var list page.List
	for _, line := range c.unreached() {
		list = append(list, page.Text(line))
	}
	return page.Section{ID: "unreached", Title: "What no program has come to", Blocks: []page.Block{list}}
}

// coverage returns how many of the blocks, or of the pairs of operation and state, were reached, as
// text.
func (c *Fuzz) coverage() string {
	n, all, what := c.covered()
	return fmt.Sprintf("%d of %d %ss", n, all, what)
}

// covered returns how many of the blocks or pairs that programs are expected to reach were
// reached, and what these are.
func (c *Fuzz) covered() (n, all int, what string) {
	cov := c.session.Coverage()
	if c.Kernel.Kernel != "" {
		return cov.Blocks, cov.BlocksAll, "block"
	}
	return cov.Pairs, cov.PairsAll, "pair"
}

// reachStatus returns the exit status: a failure if fewer were reached than the user asked for.
func (c *Fuzz) reachStatus(p *cli.Program) int {
	n, all, what := c.covered()
	if uint64(n)*100 >= c.Reach*uint64(all) {
		return cli.OK
	}
	p.Judged.Add(verdict.Case{Group: drawnPrograms, Name: "reached", Outcome: verdict.Failed, Rule: verdict.Unreached,
		Says: fmt.Sprintf("%d of %d %ss were reached, fewer than %d %%", n, all, what, c.Reach)})
	fmt.Fprintf(p.Err, "kpsim: fewer than %d %% of the %ss were reached\n", c.Reach, what)
	return cli.Against
}
