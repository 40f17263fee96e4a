package lang_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/edit"
	"kpsim/internal/scenario/lang"
)

// TestYieldTo: the task may come later in the program, and a task that is left out takes the
// operations that name it along.
func TestYieldTo(t *testing.T) {
	const a = `text("f", "c3", at = 0x100000)
task("a", cpu = 0, ops = [yield_to("b"), schedule()])
task("b", cpu = 0, ops = [schedule()])
`
	s, err := lang.Load("mine.star", []byte(a), nil)
	require.NoError(t, err)
	again, err := lang.Parse("mine.kps", []byte(lang.Print(s)))
	require.NoError(t, err)
	require.Equal(t, s, again)
	for _, e := range edit.Smaller(s) {
		if e.Says == "task b left out" {
			c := e.Apply(s)
			require.NoError(t, lang.Check(c))
			require.Len(t, c.Tasks[0].Ops, 1)
		}
	}
	_, err = lang.Load("mine.star", []byte(a[:len(a)-40]), nil)
	require.ErrorContains(t, err, `no task "b"`)
}
