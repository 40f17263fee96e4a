package findings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/search/fuzz"
)

// A fuzzAnswer is what is printed of a program that a kernel answers otherwise than by the rules.
type fuzzAnswer struct {
	Otherwise string `json:"otherwise"`
	Like      string `json:"like,omitempty"` // the known difference that it is
	Program   string `json:"program"`
	Recipe    string `json:"recipe"`
}

// answered tells of the first program that is answered otherwise, and of the first that is so
// by each of the known differences. Its recipe is saved.
func (c *Fuzz) answered(p *cli.Program, one *fuzz.Program, clear func()) error {
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

// tellAnswers says how many programs a kernel has answered otherwise than by the rules.
func (c *Fuzz) tellAnswers(p *cli.Program) {
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

// eachExcuse calls a function for each reason why no program is expected to come to a block,
// and says how many blocks these are.
func (c *Fuzz) eachExcuse(f func(line string)) {
	count := make(map[string]int)
	var whys []string
	for _, b := range c.session.Excused() {
		if count[b.Why]++; count[b.Why] == 1 {
			whys = append(whys, b.Why)
		}
	}
	slices.Sort(whys)
	for _, why := range whys {
		f(fmt.Sprintf("%s: %s", cli.Number(count[why], "block"), why))
	}
}

// blocks says how many of a kernel's blocks were reached.
func blocks(cov *fuzz.Coverage) string {
	if cov.BlocksAll == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d blocks", cov.Blocks, cov.BlocksAll)
}

// reached is the exit status: against what was asked for if too few of a kernel's blocks were
// reached.
func (c *Fuzz) reached(p *cli.Program) int {
	cov := c.session.Coverage()
	if uint64(100*cov.Blocks) < c.Reach*uint64(cov.BlocksAll) {
		fmt.Fprintf(p.Err, "kpsim: fewer than %d %% of the blocks were reached\n", c.Reach)
		return cli.Against
	}
	return cli.OK
}
