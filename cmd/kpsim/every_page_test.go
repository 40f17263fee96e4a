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

// fitting has for each command that writes a page the folder, from here, and the test that opens that page in a browser
// at each size and on paper, or what all tests there call.
var fitting = map[string][2]string{
	"check":          {".", "TestSurveyPage"},
	"fuzz":           {".", "TestFuzzPageFits"},
	"matrix":         {"../../internal/eval/matrix/pages", "TestMatrixPageFits"},
	"mutants":        {"../../internal/eval/mutants", "TestMutantsPage"},
	"overhead table": {".", "TestOverheadPage"},
	"overhead price": {".", "TestPricePage"},
	"review":         {"../../internal/eval/review", "told"},
	"view":           {"../../internal/ui/viewer", "TestPaper"},
}

// Each command that writes a page has a test that opens it in a browser.
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
				walk(verb+" "+c.Name, c)
			}
		}
	}
	walk("", newParser(verbs, io.Discard, io.Discard).Model.Node)
	require.Equal(t, slices.Sorted(maps.Keys(fitting)), slices.Sorted(maps.Keys(verbsOfPages)),
		"a page has a row in fitting, and a test there that calls pagetest.Fits")
	for verb, at := range fitting {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(at[0]), "*_test.go"))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(files, func(name string) bool {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			_, test, _ := strings.Cut(string(b), "\nfunc "+at[1]+"(")
			test, _, _ = strings.Cut(test, "\n}\n")
			return strings.Contains(test, "pagetest.Fits(") || strings.Contains(test, ".paper(")
		}), "%s: %s of %s doesn't open the page", verb, at[1], at[0])
	}
}
