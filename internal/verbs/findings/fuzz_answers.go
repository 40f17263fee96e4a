package findings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
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

// eachExcuse calls f for each reason why no program is expected to reach a block, with the
// number of such blocks.
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

// blocks returns how many of a kernel's blocks were reached, as text.
func blocks(cov *fuzz.Coverage) string {
	if cov.BlocksAll == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d blocks", cov.Blocks, cov.BlocksAll)
}

// coverageStatus returns the exit status. It is a failure if fewer of a kernel's blocks were reached
// than the user asked for.
func (c *Fuzz) coverageStatus(p *cli.Program) int {
	cov := c.session.Coverage()
	if uint64(100*cov.Blocks) < c.Reach*uint64(cov.BlocksAll) {
		fmt.Fprintf(p.Err, "kpsim: fewer than %d %% of the blocks were reached\n", c.Reach)
		return cli.Against
	}
	return cli.OK
}
