package verdict

import (
	"bytes"
	"fmt"
	"strings"
)

// ktap writes KTAP version 1 (Documentation/dev-tools/ktap.rst of the kernel). A group is a test whose subtests are
// its cases. What is said of a case stands in diagnostic lines before its result.
func ktap(b *bytes.Buffer, l *List) {
	groups := l.groups()
	fmt.Fprintf(b, "KTAP version 1\n1..%d\n", len(groups))
	for i, g := range groups {
		fmt.Fprintf(b, "  KTAP version 1\n  1..%d\n", len(g.cases))
		for k, c := range g.cases {
			for _, s := range c.about() {
				fmt.Fprintf(b, "  # %s\n", diagnostic(s))
			}
			fmt.Fprintf(b, "  %s %d %s%s\n", okWord(c.Outcome), k+1, described(c.Name), c.directive())
		}
		worst, directive := Passed, ""
		switch {
		case g.Failed+g.Errored > 0:
			worst = Failed
		case g.Skipped == len(g.cases):
			directive = " # SKIP all were skipped"
		}
		fmt.Fprintf(b, "%s %d %s%s\n", okWord(worst), i+1, described(g.name), directive)
	}
}

func okWord(o Outcome) string {
	if o == Failed || o == Errored {
		return "not ok"
	}
	return "ok"
}

// directive returns what ends a result line.
func (c *Case) directive() string {
	says := ""
	if first := lines(c.Says); len(first) > 0 {
		says = " " + described(first[0])
	}
	switch c.Outcome {
	case Skipped:
		return " # SKIP" + says
	case Errored:
		return " # ERROR" + says
	}
	return ""
}

// ktapEnds are texts at which the kernel's reader stops (KTAP_END of tools/testing/kunit/kunit_parser.py), wherever
// in a line they are.
var ktapEnds = strings.NewReplacer("List of all partitions:", `List of all partitions\x3a`,
	"Kernel panic - not syncing: VFS:", `Kernel panic - not syncing: VFS\x3a`, "reboot: System halted",
	`reboot\x3a System halted`)

// described returns a name as the description of a result line, which can't include #. A dash at its beginning would
// be taken for the one before a description.
func described(name string) string {
	s := ktapEnds.Replace(strings.ReplaceAll(name, "#", `\x23`))
	if rest, ok := strings.CutPrefix(s, "- "); ok {
		s = `\x2d ` + rest
	}
	return s
}

// diagnostic returns a line after "# ". "# Subtest: NAME" would begin a test.
func diagnostic(s string) string {
	if strings.HasPrefix(s, "Subtest:") {
		s = "  " + s
	}
	return ktapEnds.Replace(s)
}
