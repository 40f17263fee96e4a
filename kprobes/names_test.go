package kprobes_test

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

// TestNames: each function of doc.go's table of the kernel's names is there, and is
// listed once; and no file knows of mutants.
func TestNames(t *testing.T) {
	have := map[string]bool{}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			require.False(t, ok && strings.Contains(id.Name, "Mutant"), "%s: mutants are in kprobes/mutants alone",
				name)
			return true
		})
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				have[fn.Name.Name] = true
			}
		}
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(doc), "// # Names\n")
	require.True(t, ok)
	rows := regexp.MustCompile(`(?m)^//\t(\w+) +(\S.*\S) +\d\.[\d.]+(?: to [\d.]+)?$`).FindAllStringSubmatch(table, -1)
	require.Len(t, rows, strings.Count(table, "\n//\t"), "a row that isn't ours, the kernel's, since")
	for _, r := range rows {
		require.True(t, have[r[1]], "%s (%s) isn't a function here, or is listed twice", r[1], r[2])
		delete(have, r[1])
	}
}
