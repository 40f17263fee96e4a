package kpsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowsOfScenario are the steps of handlers and the sources of interrupts that are rows of package scenario,
// but for its kinds of parameter and traits.
var rowsOfScenario = regexp.MustCompile(`^(Step(Count|SetReg|SetIP|Call|Nonzero|Store|Save|Restore|Sleep|Register|Unregister|Enable|Disable)` +
	`|Source(Timer|NMI|Preempt))$`)

// A step and a source are rows of package scenario: no other package has a case or a list of them. What all of a
// sort have in common is a trait, or a parameter, of their rows. The generator makes scenarios, and names them.
func TestStepsAndSourcesAreRows(t *testing.T) {
	is := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		p, ok := s.X.(*ast.Ident)
		return ok && p.Name == "scenario" && rowsOfScenario.MatchString(s.Sel.Name)
	}
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	require.NoError(t, err)
	named := 0
	for file := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if is(n) {
					named++
				}
			case *ast.BinaryExpr:
				ordered := n.Op == token.LSS || n.Op == token.LEQ || n.Op == token.GTR || n.Op == token.GEQ
				require.False(t, ordered && (is(n.X) || is(n.Y)), "%s: an order of rows: give them a trait", fset.Position(n.Pos()))
			case *ast.CaseClause:
				for _, e := range n.List {
					require.False(t, is(e), "%s: a case for a row: give it a trait", fset.Position(e.Pos()))
				}
			case *ast.CompositeLit:
				rows := 0
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Key
					}
					if is(e) {
						rows++
					}
				}
				require.Less(t, rows, 2, "%s: a list of rows: give them a trait", fset.Position(n.Pos()))
			}
			return true
		})
	}
	require.Greater(t, named, 20, "no code was looked at")
}
