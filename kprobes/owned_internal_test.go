package kprobes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Buffers, and what the rules have looked at last: a later holder believes none of it
// without comparing it with the text.
var leftOver = []string{"code", "looked", "aggrPlaces", "listPlaces", "spans", "instances", "holders",
	"judge", "kernel", "of", "plain", "found", "sites", "extable", "thunks", "breaks"}

// TestOwned: Owned takes in each field that says it is owned by kprobe_mutex.
func TestOwned(t *testing.T) {
	src, err := os.ReadFile("locks.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fields := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.Field)
			if !ok || x.Comment == nil || !strings.Contains(x.Comment.Text(), "owned by kprobe_mutex") {
				return true
			}
			for _, id := range x.Names {
				fields++
				if !slices.Contains(leftOver, id.Name) {
					require.Contains(t, string(src), "."+id.Name, "%s in %s", id.Name, name)
				}
			}
			return true
		})
	}
	require.Greater(t, fields, 30)
}
