package run

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/litmus/axioms"
	"kpsim/internal/litmus/ctest"
)

func judgeC(t require.TestingT, text string) (*C, *Result) {
	p, r, err := judged(t, text)
	require.NoError(t, err)
	require.True(t, r.Complete)
	return p, r
}

func judged(t require.TestingT, text string) (*C, *Result, error) {
	c, err := ctest.Parse("t", []byte(text))
	require.NoError(t, err)
	p, err := NewC(c, LKMM)
	require.NoError(t, err)
	r, err := Judge(p, Options{})
	return p, r, err
}

// TestJudgeShapes: the axioms say of the classic shapes what the machine shows of them.
func TestJudgeShapes(t *testing.T) {
	for _, s := range cShapes {
		_, r := judgeC(t, cText(s.cond, s.bodies...))
		want := "Never"
		if strings.Contains(s.in, string(LKMM)) {
			want = "Sometimes"
		}
		require.Equal(t, want, verdict(r), "%s: %v", s.name, r.Outcomes)
	}
}

// TestJudgeDrawn: of drawn programs the machine shows nothing under any model that the axioms
// forbid; they share no code.
func TestJudgeDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		for i := range p.threads {
			for k := range p.threads[i] {
				if a := &p.threads[i][k]; a.what == "add" {
					a.what = "store"
				}
			}
		}
		text := p.cText()
		_, r, err := judged(t, text)
		if errors.Is(err, axioms.ErrWays) {
			t.Skip("too long for the axioms") // rapid fails if most are
		}
		require.NoError(t, err)
		require.True(t, r.Complete)
		require.False(t, r.Unlisted)
		all := texts(r)
		for s := range p.outcomes(TSO) {
			require.Contains(t, all, s, "%s", text)
		}
		if len(p.threads) > 2 {
			return // the machine has many states
		}
		_, m := searchC(t, text, LKMM)
		for _, s := range texts(m) {
			require.Contains(t, all, s, "%s", text)
		}
	})
}

// TestRegisterReuse: a local that gets another value keeps no load early, and an outcome of which
// the machine has no schedule is told by what its loads read.
func TestRegisterReuse(t *testing.T) {
	p, r := judgeC(t, cText(`0:r1=1 /\ 1:r0=1`,
		"int r0 = READ_ONCE(*x); int r1 = r0; r0 = READ_ONCE(*y); WRITE_ONCE(*z, r0);",
		"int r0 = READ_ONCE(*z); smp_mb();"+writeX, writeY))
	require.Equal(t, "Sometimes", verdict(r))
	o := &r.Outcomes[len(r.Outcomes)-1]
	require.True(t, o.Holds)
	s, err := Schedule(p, o, LKMM)
	require.NoError(t, err)
	require.Nil(t, s)
	var lines []string
	for _, l := range p.Execution(o) {
		lines = append(lines, l.What+": "+l.Note)
	}
	require.Equal(t, []string{
		"read x: it reads 1, which P1 stores", "read y: it reads 1, which P2 stores", "write z: it stores 1",
		"read z: it reads 1, which P0 stores", "write x: it stores 1", "write y: it stores 1",
	}, lines)
}

// TestJudgeEndless: threads that may wait for ever are told of, as the machine tells of them.
func TestJudgeEndless(t *testing.T) {
	const lock, unlock = "spin_lock(l);", "spin_unlock(l);"
	for _, c := range []struct {
		endless bool
		bodies  []string
	}{
		{false, []string{lock + writeX + unlock, lock + readX + unlock}},
		{true, []string{lock + readY + "if (r0) " + unlock, lock + writeY + unlock}},
		{true, []string{"rcu_read_lock(); synchronize_rcu(); rcu_read_unlock();", writeX}},
	} {
		_, r := judgeC(t, cText("true", c.bodies...))
		require.Equal(t, c.endless, r.Endless, c.bodies)
	}
}
