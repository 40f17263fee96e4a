package smpev_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each row has the name of its constant, in each vocabulary.
func TestRowsHaveTheirConstantsNames(t *testing.T) {
	for _, path := range []string{"kinds.go", "../../kprobes/kpev/kinds.go", "../../linux/linuxev/linuxev.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		rows := 0
		ast.Inspect(f, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok || len(row.Elts) < 2 {
				return true
			}
			kind, ok := row.Elts[0].(*ast.KeyValueExpr)
			if name, named := row.Elts[1].(*ast.KeyValueExpr); ok && named && kind.Key.(*ast.Ident).Name == "Kind" {
				require.Equal(t, `"`+kind.Value.(*ast.Ident).Name+`"`, name.Value.(*ast.BasicLit).Value)
				rows++
			}
			return true
		})
		require.Greater(t, rows, 4, path)
	}
}
