package kpsim

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowsAreRows: operations, steps of handlers and sources of interrupts are rows. No other package has a case, an
// order or a list of them: what several rows have in common is a trait or a parameter. Only the generator lists
// operations, because it draws sequences of them.
func TestRowsAreRows(t *testing.T) {
	rows := rowsOfScenario(t)
	named := 0
	for _, f := range tree(t) {
		if strings.HasSuffix(f.path, "_test.go") || strings.HasPrefix(f.path, "internal/scenario/act/") {
			continue
		}
		named += orders(t, f.file, func(e ast.Expr) bool { return rows[selector(e)] })
		if !strings.HasPrefix(f.path, "internal/scenario/gen/") && !strings.HasPrefix(f.path, "internal/testkit/gentest/") {
			named += orders(t, f.file, func(e ast.Expr) bool { return strings.HasPrefix(selector(e), "act.") })
		}
	}
	require.Greater(t, named, 20, "no code was looked at")
}

// rowsOfScenario returns the rows that package scenario lists, as other packages name them.
func rowsOfScenario(t *testing.T) map[string]bool {
	rows := make(map[string]bool)
	for _, f := range tree(t) {
		if !strings.HasPrefix(f.path, "internal/scenario/") || f.file.Name.Name != "scenario" {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "Steps" && v.Names[0].Name != "SourceKinds" {
				return true
			}
			for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
				rows["scenario."+e.(*ast.Ident).Name] = true
			}
			return false
		})
	}
	require.True(t, rows["scenario.StepSetReg"] && rows["scenario.SourceNMI"], "%v", rows)
	return rows
}

// orders fails on a case, an order or a list of rows, and returns how often rows are named.
func orders(t *testing.T, f *ast.File, is func(ast.Expr) bool) (named int) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if is(n) {
				named++
			}
		case *ast.BinaryExpr:
			ordered := n.Op == token.LSS || n.Op == token.LEQ || n.Op == token.GTR || n.Op == token.GEQ
			require.False(t, ordered && (is(n.X) || is(n.Y)), "%s: an order of rows: give them a trait",
				fileSet.Position(n.Pos()))
		case *ast.CaseClause:
			for _, e := range n.List {
				require.False(t, is(e), "%s: a case for a row: give it a trait", fileSet.Position(e.Pos()))
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
			require.Less(t, rows, 2, "%s: a list of rows: give them a trait", fileSet.Position(n.Pos()))
		}
		return true
	})
	return named
}

// selector returns an expression of the form package.Name, "" for others.
func selector(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok {
			return p.Name + "." + s.Sel.Name
		}
	}
	return ""
}
