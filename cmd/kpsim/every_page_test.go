package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// fitting has for each verb that writes a page the folder, from here, whose tests open that page in a
// browser at each size and on paper.
var fitting = map[string]string{
	"check":    ".",
	"fuzz":     ".",
	"matrix":   "../../internal/eval/matrix/pages",
	"mutants":  "../../internal/eval/mutants",
	"overhead": ".",
	"review":   "../../internal/eval/review",
	"view":     "../../internal/ui/viewer",
}

// Each verb that writes a page has a test that opens it in a browser.
func TestEveryPageIsOpened(t *testing.T) {
	verbsOfPages := map[string]bool{}
	var walk func(verb string, at *kong.Node)
	walk = func(verb string, at *kong.Node) {
		for _, f := range at.Flags {
			if f.Name == "html" {
				verbsOfPages[verb] = true
			}
		}
		for _, c := range at.Children {
			if verb == "" {
				walk(c.Name, c)
			} else {
				walk(verb, c)
			}
		}
	}
	walk("", newParser(verbs, io.Discard, io.Discard).Model.Node)
	require.Equal(t, slices.Sorted(maps.Keys(fitting)), slices.Sorted(maps.Keys(verbsOfPages)),
		"a page has a row in fitting, and a test there that calls pagetest.Fits")
	for verb, dir := range fitting {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(files, func(name string) bool {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			return strings.Contains(string(b), "pagetest.Fits(") || strings.Contains(string(b), "pagetest.Paper")
		}), "%s: no test of %s opens the page", verb, dir)
	}
}
