package kpsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An operation of the language is a row of package act: no other package has a list of
// operations, or does something for some of them by name. What all of a sort have in common
// is a trait, or a parameter, of their rows. The generator's tales of a few operations that
// belong together are made of operations, and name them.
func TestOperationsAreRows(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	require.NoError(t, err)
	looked := 0
	for file := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/scenario/act/") ||
			strings.HasPrefix(file, "internal/scenario/gen/") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CaseClause:
				for _, e := range n.List {
					require.False(t, ofAct(e), "%s: a case for an operation: give its row a trait",
						fset.Position(e.Pos()))
				}
			case *ast.CompositeLit:
				operations := 0
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Key
					}
					if ofAct(e) {
						operations++
					}
				}
				looked++
				require.Less(t, operations, 2, "%s: a list of operations: give their rows a trait",
					fset.Position(n.Pos()))
			}
			return true
		})
	}
	require.Greater(t, looked, 1000, "no code was looked at")
}

// ofAct reports whether an expression is an operation, by its name.
func ofAct(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	p, ok := s.X.(*ast.Ident)
	return ok && p.Name == "act"
}
