package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/ctest"
	"kpsim/internal/litmus/x86test"
)

// cText writes a test in C of threads' bodies over x, y, z and the lock l.
func cText(cond string, bodies ...string) string {
	var b strings.Builder
	b.WriteString("C t\n{}\n")
	for i, body := range bodies {
		fmt.Fprintf(&b, "P%d(int *x, int *y, int *z, spinlock_t *l)\n{\n%s\n}\n", i, body)
	}
	return b.String() + "exists (" + cond + ")\n"
}

func searchC(t require.TestingT, text string, m Memory) (*C, *Result) {
	c, err := ctest.Parse("t", []byte(text))
	require.NoError(t, err)
	p, err := NewC(c, m)
	require.NoError(t, err)
	r, err := Search(p, Options{Memory: m})
	require.NoError(t, err)
	require.True(t, r.Complete)
	return p, r
}

const (
	writeX = "WRITE_ONCE(*x, 1);"
	writeY = "WRITE_ONCE(*y, 1);"
	readX  = "int r1 = READ_ONCE(*x);"
	readY  = "int r0 = READ_ONCE(*y);"
)

// cShapes are classic shapes, and under which models their conditions are seen.
var cShapes = []struct {
	name, cond string
	bodies     []string
	in         string // models
}{
	{"SB", `0:r0=0 /\ 1:r1=0`, []string{writeX + readY, writeY + readX}, "tso lkmm"},
	{"SB+mbs", `0:r0=0 /\ 1:r1=0`, []string{writeX + "smp_mb();" + readY, writeY + "smp_mb();" + readX}, ""},
	{"SB+store_mb", `0:r0=0 /\ 1:r1=0`, []string{"smp_store_mb(*x, 1);" + readY, "smp_store_mb(*y, 1);" + readX}, ""},
	{"SB+xchg", `0:r0=0 /\ 1:r1=0`, []string{"int r2 = xchg(x, 1);" + readY, "int r2 = xchg(y, 1);" + readX}, ""},
	{"SB+relaxed", `0:r0=0 /\ 1:r1=0`, []string{"int r2 = xchg_relaxed(x, 1);" + readY, "int r2 = xchg_relaxed(y, 1);" +
		readX}, "lkmm"},
	{"SB, failed cmpxchg", `0:r0=0 /\ 1:r1=0`, []string{writeX + "int r2 = cmpxchg(z, 5, 6);" + readY,
		writeY + "int r2 = cmpxchg(z, 5, 6);" + readX}, "lkmm"},
	{"MP", `1:r0=1 /\ 1:r1=0`, []string{writeX + writeY, readY + readX}, "lkmm"},
	{"MP+wmb", `1:r0=1 /\ 1:r1=0`, []string{writeX + "smp_wmb();" + writeY, readY + readX}, "lkmm"},
	{"MP+wmb+rmb", `1:r0=1 /\ 1:r1=0`, []string{writeX + "smp_wmb();" + writeY, readY + "smp_rmb();" + readX}, ""},
	{"MP+release+acquire", `1:r0=1 /\ 1:r1=0`,
		[]string{writeX + "smp_store_release(y, 1);", "int r0 = smp_load_acquire(y);" + readX}, ""},
	{"LB", `0:r0=1 /\ 1:r1=1`, []string{readY + writeX, readX + writeY}, "lkmm"},
	{"LB+data", `0:r0=1 /\ 1:r1=1`, []string{readY + "WRITE_ONCE(*x, r0);", readX + "WRITE_ONCE(*y, r1);"}, ""},
	{"2+2W", `x=1 /\ y=1`, []string{writeX + "WRITE_ONCE(*y, 2);", writeY + "WRITE_ONCE(*x, 2);"}, "lkmm"},
	{
		"MP, of one lock", `1:r0=1 /\ 1:r1=0`,
		[]string{"spin_lock(l);" + writeX + writeY + "spin_unlock(l);", "spin_lock(l);" + readY + readX +
			"spin_unlock(l);"},
		"",
	},
	{
		"MP, a lock given back and taken", `1:r0=1 /\ 1:r1=0`,
		[]string{"spin_lock(l);" + writeX + "spin_unlock(l); spin_lock(l);" + writeY + "spin_unlock(l);",
			readY + "smp_rmb();" + readX}, "",
	},
	{
		"MP, a lock handed over", `1:r2=1 /\ 2:r0=1 /\ 2:r1=0`,
		[]string{"spin_lock(l);" + writeX + "spin_unlock(l);",
			"spin_lock(l); int r2 = READ_ONCE(*x);" + writeY + "spin_unlock(l);", readY + "smp_rmb();" + readX}, "",
	},
	{
		"SB, a lock given back and taken", `0:r0=0 /\ 1:r1=0`,
		[]string{"spin_lock(l);" + writeX + "spin_unlock(l); spin_lock(l); spin_unlock(l);" + readY,
			writeY + "smp_mb();" + readX}, "lkmm",
	},
	{
		"a count under a lock", `not (x=2)`,
		[]string{"spin_lock(l); int r = READ_ONCE(*x); WRITE_ONCE(*x, r + 1); spin_unlock(l);",
			"spin_lock(l); int r = READ_ONCE(*x); WRITE_ONCE(*x, r + 1); spin_unlock(l);"}, "",
	},
	{"a count without", `not (x=2)`, []string{"int r = READ_ONCE(*x); WRITE_ONCE(*x, r + 1);",
		"int r = READ_ONCE(*x); WRITE_ONCE(*x, r + 1);"}, "sc tso lkmm"},
	{
		"RCU", `1:r0=1 /\ 1:r1=0`,
		[]string{writeX + "synchronize_rcu();" + writeY, "rcu_read_lock();" + readY + readX + "rcu_read_unlock();"}, "",
	},
	{
		"RCU, the other way", `1:r1=1 /\ 1:r0=0`,
		[]string{writeX + "synchronize_rcu();" + writeY, "rcu_read_lock();" + readX + readY + "rcu_read_unlock();"},
		"sc lkmm",
	},
	{
		// it reads what was before the grace period, and a store after it is before its other load
		"RCU, deferred free", `0:r0=0 /\ 1:r1=1`,
		[]string{"rcu_read_lock();" + readY + readX + "rcu_read_unlock();" + "",
			writeY + "synchronize_rcu();" + writeX + "int r1 = 1;"}, "sc lkmm",
	},
	{"an address", `1:r0=x /\ 1:r1=0`, []string{"WRITE_ONCE(*x, 1); smp_store_release(y, x);",
		"int *r0 = rcu_dereference(*y); int r1 = READ_ONCE(*x);"}, "lkmm"},
}

// TestCShapes: which model shows what, of every schedule there is.
func TestCShapes(t *testing.T) {
	for _, s := range cShapes {
		for _, m := range []Memory{SC, TSO, LKMM} {
			text := cText(s.cond, s.bodies...)
			if m == TSO && strings.Contains(text, "rcu_read") {
				continue
			}
			p, r := searchC(t, text, m)
			want := "Never"
			if strings.Contains(s.in, string(m)) {
				want = "Sometimes"
			}
			require.Equal(t, want, verdict(r), "%s under %s: %v", s.name, m, r.Outcomes)
			for i := range r.Outcomes { // each can be told
				_, err := Explain(p, &r.Outcomes[i], m)
				require.NoError(t, err)
			}
		}
	}
}

// TestCExplain: what is told of a load of an older value, and of a barrier.
func TestCExplain(t *testing.T) {
	p, r := searchC(t, cText(`1:r0=1 /\ 1:r1=0`, writeX+"smp_wmb();"+writeY, readY+readX), LKMM)
	for i := range r.Outcomes {
		if !r.Outcomes[i].Holds {
			continue
		}
		lines, err := Explain(p, &r.Outcomes[i], LKMM)
		require.NoError(t, err)
		require.Equal(t, []Line{
			{CPU: 0, What: "write x", Changes: []string{"[x]=1"}},
			{CPU: 0, What: "smp_wmb; write y", Changes: []string{"[y]=1"}},
			{CPU: 1, What: "read y", Changes: []string{"1:r0=1"}},
			{CPU: 1, What: "read x", Note: "it reads 0, and 1 is newer"},
		}, lines)
		return
	}
	t.Fatal("it isn't seen")
}

// TestCRefused: what can't be run is an error.
func TestCRefused(t *testing.T) {
	c, err := ctest.Parse("t", []byte(cText("true", "rcu_read_lock(); rcu_read_unlock();")))
	require.NoError(t, err)
	_, err = NewC(c, TSO)
	require.ErrorContains(t, err, "give --memory lkmm")

	c, err = ctest.Parse("t", []byte(cText("true", "int *r0 = READ_ONCE(*x); int r1 = READ_ONCE(*r0);")))
	require.NoError(t, err)
	p, err := NewC(c, LKMM)
	require.NoError(t, err)
	_, err = Search(p, Options{Memory: LKMM})
	require.ErrorContains(t, err, "t:5: 0 is dereferenced")
}

// sampled: of the collection's tests one in so many is run, with so many states at most.
const (
	sampled    = 60
	mostSample = 4000
)

// TestCCollection: of the tests that KPSIM_LITMUS_C's folder has (github.com/paulmckrcu/litmus)
// a sample is run on the machine. No "Never" is seen, and of what is "Sometimes" only load
// buffering isn't.
func TestCCollection(t *testing.T) {
	dir := os.Getenv("KPSIM_LITMUS_C")
	if dir == "" {
		t.Skip("KPSIM_LITMUS_C names no folder of tests")
	}
	n, count := 0, make(map[string]int)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".litmus" {
			return err
		}
		if n++; n%sampled != 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if x86test.Language(string(text)) != "C" {
			return nil
		}
		c, err := ctest.Parse(path, text)
		if err != nil || c.Prop == nil || c.Result != "Never" && c.Result != "Sometimes" {
			return nil
		}
		p, err := NewC(c, LKMM)
		require.NoError(t, err)
		r, err := Search(p, Options{Memory: LKMM, Most: mostSample})
		require.NoError(t, err)
		v := verdict(r)
		require.False(t, c.Result == "Never" && v != "Never", path)
		if v == "Never" && !r.Complete {
			v = "too many states"
		} else if v != c.Result {
			t.Logf("not seen: %s", path)
		}
		count[c.Result+", "+v]++
		return nil
	}))
	t.Log(count)
	seen, not := count["Sometimes, Sometimes"], count["Sometimes, Never"]
	require.GreaterOrEqual(t, seen*100, 95*(seen+not))
}
