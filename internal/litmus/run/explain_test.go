package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/litmus/x86test"
)

// explained returns the schedule of the outcome that a text begins with, a step a line.
func explained(t require.TestingT, text, outcome string, m Memory) string {
	c, err := x86test.Parse("t", text)
	require.NoError(t, err)
	p, err := NewX86(c)
	require.NoError(t, err)
	r, err := Search(p, Options{Memory: m})
	require.NoError(t, err)
	for i := range r.Outcomes {
		if !strings.HasPrefix(r.Outcomes[i].Text, outcome) {
			continue
		}
		lines, err := Explain(p, &r.Outcomes[i], m)
		require.NoError(t, err)
		var b strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&b, "P%d %q held=%v ends=%v %v\n", l.CPU, l.What, l.Held, l.Ends, l.Changes)
		}
		return b.String()
	}
	t.Errorf("no outcome %s", outcome)
	return ""
}

// TestExplain: a store that is held, one that isn't, and one that drains before a fence.
func TestExplain(t *testing.T) {
	require.Equal(t, `P0 "movl $1,(x)" held=true ends=false []
P0 "movl (y),%eax" held=false ends=false [0:rax=0]
P1 "movl $1,(y)" held=false ends=false [[y]=1]
P1 "movl (x),%eax" held=false ends=false [1:rax=0]
P0 "" held=false ends=true [[x]=1]
`, explained(t, small[0], "0:rax=0; 1:rax=0;", TSO))
	require.NotContains(t, explained(t, small[0], "0:rax=0; 1:rax=1;", SC), "held=true")

	const two = "X86_64 T\n{}\nP0|P1;\nmovl $1,(x)|movl $1,(z);\nmovl $1,(y)|mfence;\nmovl (z),%eax|movl " +
		"(x),%eax;\nmfence|movl (x),%ebx;\n|movl (y),%ecx;\nexists (0:rax=0 /\\ 1:rax=0 /\\ 1:rbx=1 /\\ 1:rcx=0)"
	story := explained(t, two, "0:rax=0; 1:rax=0; 1:rbx=1; 1:rcx=0;", TSO)
	require.Contains(t, story, `P0 "" held=false ends=false [[x]=1]`, "the older store takes effect by itself")
	require.Contains(t, story, `P0 "mfence" held=false ends=false [[y]=1]`, "the fence waits for the other one")
}

// TestExplainDrawn: what the steps of a schedule change comes to its outcome, whatever the
// program; under sc no store is held.
func TestExplainDrawn(t *testing.T) {
	for _, m := range models {
		held := 0
		rapid.Check(t, func(t *rapid.T) {
			text := drawPlan(t).text(x86test.ATT)
			c, err := x86test.Parse("drawn", text)
			require.NoError(t, err)
			p, err := NewX86(c)
			require.NoError(t, err)
			r, err := Search(p, Options{Memory: m})
			require.NoError(t, err)
			o := &r.Outcomes[rapid.IntRange(0, len(r.Outcomes)-1).Draw(t, "outcome")]
			lines, err := Explain(p, o, m)
			require.NoError(t, err)
			values := make(map[string]string)
			ran := 0
			for _, l := range lines {
				for _, change := range l.Changes {
					name, v, _ := strings.Cut(change, "=")
					values[name] = v
				}
				if l.What != "" {
					ran++
				}
				if l.Held {
					held++
				}
			}
			want := 0
			for i := range c.Threads {
				want += len(c.Threads[i].Instrs)
			}
			require.Equal(t, want, ran, "each instruction is told once")
			for _, part := range strings.Fields(o.Text) {
				name, v, _ := strings.Cut(strings.TrimSuffix(part, ";"), "=")
				if values[name] == "" {
					values[name] = "0"
				}
				require.Equal(t, values[name], v, "%s in %s of %s", name, o.Text, text)
			}
		})
		if m == SC {
			require.Zero(t, held)
		} else {
			require.NotZero(t, held)
		}
	}
}
