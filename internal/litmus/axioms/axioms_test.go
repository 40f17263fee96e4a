package axioms_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/ctest"
)

// testOf writes a test of threads' bodies over x, y, z, the pointer p, the lock l and the
// srcu_struct s.
func testOf(cond string, bodies ...string) string {
	var b strings.Builder
	b.WriteString("C t\n{ p=x; }\n")
	for i, body := range bodies {
		fmt.Fprintf(&b, "P%d(int *x, int *y, int *z, int **p, spinlock_t *l, struct srcu_struct *s)\n{\n%s\n}\n", i,
			body)
	}
	return b.String() + cond + "\n"
}

const (
	one = "WRITE_ONCE(*x, 1);"
	two = "WRITE_ONCE(*y, 1);"
	rx  = "int r1 = READ_ONCE(*x);"
	ry  = "int r0 = READ_ONCE(*y);"
	lb  = "exists (0:r0=1 /\\ 1:r1=1)" // P0 reads y and stores to x
	mp  = "exists (1:r0=1 /\\ 1:r1=0)"
	sb  = "exists (0:r0=0 /\\ 1:r1=0)"
	// the other side of load buffering: it reads x, and stores to y
	after = rx + "smp_mb();" + two
)

var shapes = []struct {
	name, verdict, cond string
	bodies              []string
}{
	{"LB", "Sometimes", lb, []string{ry + one, after}},
	{"LB, by data", "Never", lb, []string{ry + "WRITE_ONCE(*x, r0);", after}},
	{"LB, in the arm", "Never", lb, []string{ry + "if (r0) WRITE_ONCE(*x, 1);", after}},
	{"LB, in the other arm", "Never", lb, []string{ry + "if (r0 == 0) WRITE_ONCE(*x, 2); else WRITE_ONCE(*x, 1);",
		after}},
	{"LB, in an arm within an arm", "Never", lb, []string{ry + "if (r0) if (1) WRITE_ONCE(*x, 1);", after}},
	{"LB, behind an if", "Sometimes", lb, []string{ry + "if (r0) WRITE_ONCE(*z, 1);" + one, after}},
	{"LB, behind an if with loads", "Sometimes", lb, []string{ry + "if (r0) r2 = READ_ONCE(*z);" + one, after}},
	{"LB, behind an if that decides the value", "Sometimes", lb,
		[]string{ry + "int r2 = 0; if (r0) r2 = 1; WRITE_ONCE(*x, r2);", after}},
	{"LB, behind an if that copies the value", "Never", lb,
		[]string{ry + "int r2 = 0; if (r0) r2 = r0; WRITE_ONCE(*x, r2);", after}},
	{"LB, by ?:", "Never", lb, []string{ry + "WRITE_ONCE(*x, r0 ? 1 : 1);", after}},
	{"LB, another value of the local", "Sometimes", lb,
		[]string{"int r2 = READ_ONCE(*y); int r0 = r2; r2 = READ_ONCE(*z); WRITE_ONCE(*x, r2 + 1);", after}},
	{"LB, another value of the loaded local", "Sometimes", `exists (0:r3=1 /\ 1:r1=1)`,
		[]string{ry + "int r3 = r0; r0 = 1; WRITE_ONCE(*x, r0);", after}},
	{"LB, a copy of the local", "Never", lb, []string{ry + "int r2 = r0; r0 = r2; WRITE_ONCE(*x, r2);", after}},
	{"LB, by a chain of addresses", "Sometimes", `exists (0:r0=z /\ 1:r1=1)`,
		[]string{"int *r0 = READ_ONCE(*p); int r2 = READ_ONCE(*r0);" + one, rx + "smp_mb(); WRITE_ONCE(*p, z);"}},
	{"LB, by an address", "Never", `exists (0:r0=y /\ 1:r1=1)`, []string{"int *r0 = READ_ONCE(*p); WRITE_ONCE(*r0, 1);",
		"int r1 = READ_ONCE(*y); smp_mb(); WRITE_ONCE(*p, y);"}},
	{"LB, of an exchange", "Sometimes", lb, []string{"int r0 = xchg_relaxed(y, 2);" + one, after}},
	{"LB, of an exchange with acquire", "Never", lb, []string{"int r0 = xchg_acquire(y, 2);" + one, after}},
	{"LB, of a cmpxchg that fails", "Sometimes", lb, []string{"int r0 = cmpxchg(y, 7, 8);" + one, after}},
	{"LB, of a cmpxchg that fails, with a barrier", "Never", lb,
		[]string{"int r0 = cmpxchg(y, 7, 8); smp_mb__after_atomic();" + one, after}},
	{"LB, past a load of the same location", "Sometimes", `exists (0:r0=1 /\ 0:r2=1 /\ 1:r1=1)`,
		[]string{ry + "int r2 = READ_ONCE(*y);" + one, after}},
	{"LB, through what is read back", "Never", lb,
		[]string{ry + "WRITE_ONCE(*z, r0); int r2 = READ_ONCE(*z); WRITE_ONCE(*x, r2);", after}},
	{"LB, out of thin air", "Never", lb, []string{ry + "WRITE_ONCE(*x, r0);", rx + "WRITE_ONCE(*y, r1);"}},
	{"2+2W of exchanges", "Sometimes", `exists (x=1 /\ y=1)`,
		[]string{"int r0 = xchg_relaxed(x, 1); int r1 = xchg_relaxed(y, 2);",
			"int r0 = xchg_relaxed(y, 1); int r1 = xchg_relaxed(x, 2);"}},
	{"two increments", "Never", `exists (x=1)`, []string{"atomic_inc(x);", "atomic_inc(x);"}},
	{"SB", "Sometimes", sb, []string{one + ry, two + rx}},
	{"SB+mbs", "Never", sb, []string{one + "smp_mb();" + ry, two + "smp_mb();" + rx}},
	{"SB, before_atomic and after_atomic", "Never", sb, []string{one + "smp_mb__before_atomic(); atomic_inc(z);" + ry,
		two + "atomic_inc(z); smp_mb__after_atomic();" + rx}},
	{"SB, before_atomic without one", "Sometimes", sb,
		[]string{one + "smp_mb__before_atomic();" + ry, two + "smp_mb();" + rx}},
	{"MP+wmb+rmb", "Never", mp, []string{one + "smp_wmb();" + two, ry + "smp_rmb();" + rx}},
	{"MP, an increment's load and an rmb", "Sometimes", `exists (1:r1=0 /\ y=2)`,
		[]string{one + "smp_wmb();" + two, "atomic_inc(y); smp_rmb();" + rx}},
	{"MP by a lock", "Never", mp, []string{"spin_lock(l);" + one + two + "spin_unlock(l);", "spin_lock(l);" + ry + rx +
		"spin_unlock(l);"}},
	{"SB, a lock handed over", "Sometimes", sb, []string{"spin_lock(l);" + one + "spin_unlock(l); spin_lock(l);" + ry +
		"spin_unlock(l);", two + "smp_mb();" + rx}},
	{"SB, a lock handed over, with a barrier", "Never", sb,
		[]string{"spin_lock(l);" + one + "spin_unlock(l); spin_lock(l); smp_mb__after_unlock_lock();" + ry +
			"spin_unlock(l);", two + "smp_mb();" + rx}},
	{"SB, after a lock", "Never", sb, []string{one + "spin_lock(l); smp_mb__after_spinlock();" + ry + "spin_unlock(l);",
		two + "smp_mb();" + rx}},
	{"a lock that is held", "DEADLOCK", sb, []string{"spin_lock(l); spin_lock(l);" + ry, rx}},
	{"RCU", "Never", mp, []string{one + "synchronize_rcu();" + two, "rcu_read_lock();" + ry + rx +
		"rcu_read_unlock();"}},
	{"two sections, one grace period", "Sometimes", `exists (0:r2=1 /\ 1:r0=1 /\ 2:r1=0)`,
		[]string{one + "synchronize_rcu(); int r2 = READ_ONCE(*z);", "rcu_read_lock();" + ry +
			"WRITE_ONCE(*z, 1); rcu_read_unlock();", "rcu_read_lock();" + rx + two + "rcu_read_unlock();"}},
	{"SRCU", "Never", mp, []string{one + "synchronize_srcu(s);" + two, "int r9 = srcu_read_lock(s);" + ry + rx +
		"srcu_read_unlock(s, r9);"}},
	{"SRCU and RCU", "Sometimes", mp, []string{one + "synchronize_srcu(s);" + two, "rcu_read_lock();" + ry + rx +
		"rcu_read_unlock();"}},
	{"SRCU, sections that overlap", "Sometimes", `exists (1:r1=1 /\ 1:r2=0)`,
		[]string{"int r8 = srcu_read_lock(s);" + one +
			"int r9 = srcu_read_lock(s); srcu_read_unlock(s, r8); WRITE_ONCE(*z, 1); srcu_read_unlock(s, r9);",
			rx + "synchronize_srcu(s); int r2 = READ_ONCE(*z);"}},
	{"SRCU, sections that nest", "Never", `exists (1:r1=1 /\ 1:r2=0)`,
		[]string{"int r8 = srcu_read_lock(s);" + one +
			"int r9 = srcu_read_lock(s); srcu_read_unlock(s, r9); WRITE_ONCE(*z, 1); srcu_read_unlock(s, r8);",
			rx + "synchronize_srcu(s); int r2 = READ_ONCE(*z);"}},
	{"plain stores around a barrier", "Sometimes", mp, []string{"*x = 1; smp_mb(); *y = 1;", ry + "smp_mb();" + rx}},
	{"a plain store before a barrier", "Never", mp, []string{"*x = 1; smp_mb();" + two, ry + "smp_mb();" + rx}},
	{"a filter", "Never", "filter (1:r0=0)\n" + mp, []string{one + two, ry + rx}},
	{"for all", "Always", `forall (1:r0=0 \/ 1:r1=1)`, []string{one + "smp_wmb();" + two, ry + "smp_rmb();" + rx}},
}

// TestShapes: what the kernel's memory model says of them, by its axioms as they are published.
func TestShapes(t *testing.T) {
	for _, s := range shapes {
		test, err := ctest.Parse("t", []byte(testOf(s.cond, s.bodies...)))
		require.NoError(t, err, s.name)
		v, r, err := judge(test)
		require.NoError(t, err, s.name)
		require.Equal(t, s.verdict, v, s.name)
		require.True(t, r.Complete && r.Listed, s.name)
	}
}

var races = []struct {
	name   string
	races  bool
	bodies []string
}{
	{"plain stores", true, []string{"*x = 1;", "*x = 2;"}},
	{"a marked store, a plain load", true, []string{one, "int r0 = *x;"}},
	{"marked accesses", false, []string{one, rx}},
	{"loads", false, []string{"int r0 = *x;", "int r0 = *x;"}},
	{"release and acquire", false,
		[]string{"*x = 1; smp_store_release(y, 1);", "int r0 = smp_load_acquire(y); if (r0) r1 = *x;"}},
	{"release and acquire, unasked", true,
		[]string{"*x = 1; smp_store_release(y, 1);", "int r0 = smp_load_acquire(y); r1 = *x;"}},
	{"an rmb after READ_ONCE", false, []string{"*x = 1; smp_wmb();" + two, ry + "if (r0) { smp_rmb(); r1 = *x; }"}},
	{"nothing after READ_ONCE", true, []string{"*x = 1; smp_wmb();" + two, ry + "if (r0) r1 = *x;"}},
	{"a lock", false, []string{"spin_lock(l); *x = 1; spin_unlock(l);", "spin_lock(l); *x = 2; spin_unlock(l);"}},
	{"an address", false, []string{"*y = 1; rcu_assign_pointer(*p, y);",
		"int *r0 = rcu_dereference(*p); if (r0 != x) r1 = *r0;"}},
	{"a grace period", false, []string{"WRITE_ONCE(*z, 1); synchronize_rcu(); *x = 1;",
		"rcu_read_lock(); int r0 = READ_ONCE(*z); if (!r0) r1 = *x; rcu_read_unlock();"}},
	{"a grace period too late", true, []string{"*x = 1; WRITE_ONCE(*z, 1); synchronize_rcu();",
		"rcu_read_lock(); int r0 = READ_ONCE(*z); if (!r0) r1 = *x; rcu_read_unlock();"}},
}

// TestRaces: two accesses race if one is plain, one a store, and compilers need keep no order.
func TestRaces(t *testing.T) {
	for _, s := range races {
		test, err := ctest.Parse("t", []byte(testOf("exists (true)", s.bodies...)))
		require.NoError(t, err, s.name)
		_, r, err := judge(test)
		require.NoError(t, err, s.name)
		require.True(t, r.Complete, s.name)
		require.Equal(t, s.races, r.Race != nil, "%s: %+v", s.name, r.Race)
	}
}

// TestRaceNamed: a race is told by its lines.
func TestRaceNamed(t *testing.T) {
	test, err := ctest.Parse("t", []byte(testOf("exists (true)", "\n\n*x = 1;", rx)))
	require.NoError(t, err)
	_, r, err := judge(test)
	require.NoError(t, err)
	require.Equal(t, 7, r.Race.Of[0].Line)
	require.True(t, r.Race.Of[0].Store && r.Race.Of[0].Plain)
	require.Equal(t, 1, r.Race.Of[1].Thread)
	require.False(t, r.Race.Of[1].Store || r.Race.Of[1].Plain)
}

// chain is a cycle of threads that each load what the one before stores, with a grace period (G) or
// in a section (R).
func chain(kinds string) string {
	var b strings.Builder
	var cond []string
	b.WriteString("C chain\n{}\n")
	for i, k := range kinds {
		body := fmt.Sprintf("int r1 = READ_ONCE(*x%d);%%sWRITE_ONCE(*x%d, 1);", i, (i+1)%len(kinds))
		if k == 'G' {
			body = fmt.Sprintf(body, "synchronize_rcu();")
		} else {
			body = "rcu_read_lock();" + fmt.Sprintf(body, "") + "rcu_read_unlock();"
		}
		fmt.Fprintf(&b, "P%d(int *x%d, int *x%d) {%s}\n", i, i, (i+1)%len(kinds), body)
		cond = append(cond, fmt.Sprintf("%d:r1=1", i))
	}
	return b.String() + "exists (" + strings.Join(cond, ` /\ `) + ")\n"
}

// TestChains: as many grace periods as sections forbid a cycle. Many threads don't make the search
// long: their number of final states does, and those aren't listed then.
func TestChains(t *testing.T) {
	for _, c := range []struct {
		kinds, verdict string
		listed         bool
	}{
		{"GR", "Never", true}, {"GRR", "Sometimes", true}, {"GGRR", "Never", true}, {"GRGRR", "Sometimes", true},
		{"GRGRGR", "Never", true}, {"RRRRGGGG", "Never", true}, {"GGGRRRRRRGRR", "Sometimes", true},
		{"RRGGGGRRRRRRGGGGRRG", "Sometimes", false}, {"GGGGGRRGGRRRRGGGGRR", "Never", false},
	} {
		test, err := ctest.Parse("t", []byte(chain(c.kinds)))
		require.NoError(t, err)
		v, r, err := judge(test)
		require.NoError(t, err)
		require.Equal(t, c.verdict, v, c.kinds)
		require.True(t, r.Complete)
		require.Equal(t, c.listed, r.Listed, c.kinds)
		require.Less(t, r.Candidates, 20_000, c.kinds)
	}
}

// TestGivenUp: a search of too many executions ends, and doesn't say that it is complete.
func TestGivenUp(t *testing.T) {
	test, err := ctest.Parse("t", []byte(chain("GRRRRRRRRRRRRRR")))
	require.NoError(t, err)
	_, r, err := judgeAtMost(test, 10)
	require.NoError(t, err)
	require.False(t, r.Complete || r.Listed)
	many := strings.Repeat(one, 65)
	test, err = ctest.Parse("t", []byte(testOf(mp, many, ry+rx)))
	require.NoError(t, err)
	_, _, err = judge(test)
	require.EqualError(t, err, "t: x has more than 64 stores; make the test smaller")
	test, err = ctest.Parse("t", []byte(testOf("exists (true)", "int *r0 = READ_ONCE(*x); int r1 = READ_ONCE(*r0);")))
	require.NoError(t, err)
	_, _, err = judge(test)
	require.EqualError(t, err,
		"t:5: 0 is dereferenced, which is no variable's address; initialise the pointer, as y=&x")
}
