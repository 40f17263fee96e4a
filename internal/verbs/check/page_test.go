package check

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
)

// The page of what is too large says what it leaves out, and has the counts of everything.
func TestSurveyPageIsBounded(t *testing.T) {
	c := &Check{Object: "../../../smp/image/testdata/module61.o", HTML: "c.html"}
	s, err := c.survey(c.Object)
	require.NoError(t, err)
	o := &surveyPage{c: c, s: s, d: newReader(s), mostFunctions: 3, mostLines: 14}
	b, err := o.document(s.Module.Symbols).Render()
	require.NoError(t, err)
	text := string(b)
	pagetest.Check(t, text)
	require.Contains(t, text, "The first 3 of 11 functions; <code>kpsim check module61.o</code> prints all.")
	require.Contains(t, text, "These are the first 14 lines, of 2 of 11 functions, so that the page stays small; <code>kpsim check --func NAME module61.o</code> prints any other.")
	require.Contains(t, text, "The page ends here: 3 of the 17 lines of this function are on it.")
	require.Equal(t, 2, strings.Count(text, "<details id="))
	require.Contains(t, text, "Of 11 functions, 52 instructions without padding.")
	require.Len(t, regexp.MustCompile(`<th scope="row">&#43;0x`).FindAllString(pagetest.Section(text, "instructions"),
		-1), 15, "and a row of padding")

	o = &surveyPage{c: c, s: s, d: newReader(s), mostFunctions: 11, mostLines: 1000}
	c.Func = "choose"
	sym, err := symbol(s, c.Object, c.Func)
	require.NoError(t, err)
	o.mostLines = 4
	b, err = o.document(append(s.Module.Symbols[:0:0], *sym)).Render()
	require.NoError(t, err)
	require.Contains(t, string(b), "The page ends here: 4 of the 17 lines of this function are on it.")
}
