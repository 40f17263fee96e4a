package kernel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames: doc.go's table of the kernel's names has only functions that exist.
func TestNames(t *testing.T) {
	have := map[string]bool{}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				have[receiver(fn.Recv.List[0].Type)+"."+fn.Name.Name] = true
			}
		}
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(doc), "// # Names\n")
	require.True(t, ok)
	rows := regexp.MustCompile(`(?m)^//\t(\w+\.\w+) +\w`).FindAllStringSubmatch(table, -1)
	require.Len(t, rows, strings.Count(table, "\n//\t"), "a row that isn't ours and the kernel's")
	for _, r := range rows {
		require.True(t, have[r[1]], "%s isn't a method here", r[1])
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
