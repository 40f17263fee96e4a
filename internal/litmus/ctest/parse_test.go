package ctest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/ctest"
)

// of wraps threads into a test.
func of(inits, threads, condition string) string {
	return "C t\n(* Result: Never *)\n{" + inits + "}\n" + threads + "\n" + condition + "\n"
}

// known are tests with what is seen: our own, one for each piece of the syntax.
var known = []struct {
	name, text string
	want       string // Never, Sometimes, Always
}{
	{"message passing", of("", `P0(int *x, int *y) { WRITE_ONCE(*x, 1); smp_wmb(); WRITE_ONCE(*y, 1); }
P1(int *x, int *y) { int r0 = READ_ONCE(*y); int r1; smp_rmb(); r1 = READ_ONCE(*x); }`, `exists (1:r0=1 /\ 1:r1=0)`), "Never"},
	{"without the barrier", of("int x = 0; y = 0;",
		`P0(int *x, int *y) { WRITE_ONCE(*x, 1); WRITE_ONCE(*y, 1); } // plain
P1(int *x, int *y) { r0 = READ_ONCE(*y); /* none */ smp_rmb(); r1 = READ_ONCE(*x); }`, `exists (1:r0=1 /\ 1:r1=0)`), "Sometimes"},
	{"load buffering", of("", `P0(int *x, int *y) { int r0 = READ_ONCE(*x); WRITE_ONCE(*y, 1); }
P1(int *x, int *y) { int r0 = READ_ONCE(*y); WRITE_ONCE(*x, 1); }`, `exists (0:r0=1 /\ 1:r0=1)`), "Sometimes"},
	{"with data dependencies", of("", `P0(int *x, int *y) { int r0 = READ_ONCE(*x); WRITE_ONCE(*y, r0 + 1); }
P1(int *x, int *y) { int r0 = READ_ONCE(*y); WRITE_ONCE(*x, r0 * 2); }`, `exists (0:r0=2 /\ 1:r0=1 \/ 0:r0=2)`), "Never"},
	{"out of thin air", of("", `P0(int *x, int *y) { int r0 = READ_ONCE(*x); WRITE_ONCE(*y, r0); }
P1(int *x, int *y) { int r0 = READ_ONCE(*y); WRITE_ONCE(*x, r0); }`, `exists (~ 0:r0=0)`), "Never"},
	{"control dependencies", of("",
		`P0(int *x, int *y) { if (READ_ONCE(*x) == 1) { WRITE_ONCE(*y, 1); } else WRITE_ONCE(*y, 2); }
P1(int *x, int *y) { int r0 = READ_ONCE(*y); if (r0 == 1 && r0 != 3) WRITE_ONCE(*x, 1); }`, `exists (x=1)`), "Never"},
	{"pointers", of("int *p = &z; z = 3; a = 5;", `P0(int **p, int *a) { WRITE_ONCE(*a, 7); rcu_assign_pointer(*p, a); }
P1(int **p) { int *r0; int r1; rcu_read_lock(); r0 = rcu_dereference(*p); r1 = READ_ONCE(*r0); rcu_read_unlock(); }`,
		`exists (1:r0=a /\ 1:r1=5)`), "Never"},
	{"grace period", of("", `P0(int *x, int *y) { rcu_read_lock(); int r0 = READ_ONCE(*x); int r1 = READ_ONCE(*y); rcu_read_unlock(); }
P1(int *x, int *y) { WRITE_ONCE(*x, 1); synchronize_rcu_expedited(); WRITE_ONCE(*y, 1); }`, `exists (0:r0=0 /\ 0:r1=1)`), "Never"},
	{"another struct's", of("",
		`P0(int *x, int *y, struct srcu_struct *s) { int i = srcu_read_lock(s); int r0 = READ_ONCE(*x); int r1 = READ_ONCE(*y); srcu_read_unlock(s, i); }
P1(int *x, int *y, struct srcu_struct *q) { WRITE_ONCE(*x, 1); synchronize_srcu(q); WRITE_ONCE(*y, 1); }`, `exists (0:r0=0 /\ 0:r1=1)`), "Sometimes"},
	{"lock", of("", `P0(int *x, spinlock_t *l) { int r0; spin_lock(l); r0 = READ_ONCE(*x); WRITE_ONCE(*x, r0 + 1); spin_unlock(l); }
P1(int *x, spinlock_t *l) { int r0; spin_lock(l); r0 = READ_ONCE(*x); WRITE_ONCE(*x, r0 + 1); spin_unlock(l); }`, `forall (x=2)`), "Always"},
	{"atomics", of("atomic_t a = ATOMIC_INIT(1); b = 1;",
		`P0(atomic_t *a, atomic_t *b) { int r0 = atomic_add_return(2, a); int r1 = atomic_fetch_sub_release(1, b); int r2 = atomic_dec_and_test(a); atomic_inc(b); }
P1(atomic_t *a, atomic_t *b) { int r0 = atomic_add_unless(a, 4, 9); int r1 = atomic_cmpxchg_relaxed(b, 7, 8); int r2 = cmpxchg(b, 8, 5); int r3 = xchg_acquire(a, atomic_read(a) | 0); }`,
		`exists (0:r1=1 /\ 1:r0=1 /\ 1:r1=7)`), "Never"},
	{"two that count", of("", `P0(atomic_t *a) { atomic_inc(a); }
P1(atomic_t *a) { int r0 = atomic_inc_return_relaxed(a); int r1 = (r0 > 1) ? 1 : 0; }`, `forall (a=2 /\ (1:r1=0 \/ 1:r0=2))`), "Always"},
	{"a filter", of("", `P0(int *x) { WRITE_ONCE(*x, 1); } P1(int *x) { int r0 = READ_ONCE(*x); }`,
		"locations [x; 1:r0]\nfilter (1:r0=1)\nexists (1:r0=0)"), "Never"},
	{"never, asked as ~exists", of("", `P0(int *x) { smp_store_mb(*x, -1); }`, `~exists (not (x=-1))`), "Never"},
}

func TestKnown(t *testing.T) {
	for _, k := range known {
		test, err := ctest.Parse(k.name, []byte(k.text))
		require.NoError(t, err, k.name)
		require.Equal(t, "Never", test.Result)
		v := search(test, ctest.Unknown, true, 100_000, 0)
		require.NoError(t, v.err, k.name)
		require.False(t, v.capped || v.stuck, k.name)
		got := "Never"
		if v.seen && v.unseen {
			got = "Sometimes"
		} else if v.seen {
			got = "Always"
		}
		require.Equal(t, k.want, got, "%s: %s", k.name, k.text)
		require.Equal(t, v.seen, search(test, ctest.Yes, true, 100_000, 0).seen, "%s: searched for", k.name)
		require.Equal(t, v.seen, search(test, ctest.Yes, true, 100_000, 5).seen, "%s: in another order", k.name)
	}
}

// TestRefused: what isn't covered is named with its line, and with what to do.
func TestRefused(t *testing.T) {
	thread := func(body string) string { return of("", "P0(int *x) {\n"+body+"\n}", "exists (x=1)") }
	for _, r := range []struct{ text, says string }{
		{"", "f:1:1: the first word is the end of the file"},
		{"X86 t\n{}", "f:1:1: the first word is X86"},
		{"C t\n", "f:2:1: there is no initial state"},
		{"C t\n(* open\n", "f:2:1: a comment isn't closed"},
		{"C t\n{}\nexists (x=1)\n", "f:3:1: exists stands where the first thread is expected"},
		{"C t\n{}\nP1(int *x) { }", "f:3:1: thread P1 comes where P0 is expected"},
		{"C t\n{ int a[2]; }", "f:2:8: a is an array, which isn't covered"},
		{"C t\n{ 1:r0=1; }\nP0(int *x) { }", "f:3:15: a variable of thread P1 is initialised"},
		{thread("while (1) { }"), "f:5:1: while isn't covered"},
		{thread("x->next = 1;"), "f:5:2: -> isn't covered"},
		{thread("call_me(x);"), "f:5:1: call_me isn't covered"},
		{thread("call_rcu(x);"), "f:5:12: call_rcu isn't covered"},
		{thread("atomic_inc_relaxed(x);"), "f:5:1: atomic_inc_relaxed isn't covered"},
		{thread("r0 = READ_ONCE(x);"), "f:5:18: READ_ONCE is of a place in memory"},
		{thread("r0 = xchg(x);"), "f:5:13: xchg has 1 arguments here"},
		{thread("WRITE_ONCE(*x, 99999999999);"), "f:5:16: 99999999999 is no number below 2^31"},
		{thread("r0 = 1 && READ_ONCE(*x);"), "an access behind && isn't covered"},
		{thread("int x;"), "f:5:6: x is a parameter and a variable of P0"},
		{thread("3 = 4;"), "f:5:6: this can't be assigned to"},
		{thread("r0 = " + strings.Repeat("(", 500)), "f:5:13: is nested deeper than 100"},
		{thread(strings.Repeat("smp_mb();\n", 1100)), "thread P0 has more than 1024 instructions"},
		{of("", "P0(int *x) { }", "exists (y=1)"), "f:5:10: there is no variable y, neither in the initial state nor as a parameter"},
		{of("", "P0(int *x) { }", "exists (0:r0=1)"), "f:5:13: thread P0 has no variable r0"},
		{of("", "P0(int *x) { }", "exists (2:r0=1)"), "f:5:10: there is no thread 2"},
		{of("", "P0(int *x) { }", "exists (x=1)\nexists (x=2)"), "f:6:8: a second condition"},
		{of("", "P0(int *x) { }", "perhaps (x=1)"),
			"f:5:1: perhaps stands where a condition is expected"},
		{"C t\n{}\nP0(int *x) { \x00 }", "is no text"},
	} {
		_, err := ctest.Parse("f", []byte(r.text))
		require.Error(t, err)
		require.Regexp(t, `^f:\d+:\d+: .+; .+`, err.Error())
		require.Contains(t, err.Error(), r.says)
	}
}

// TestNoAddress: what is dereferenced and is no address ends the test with the line.
func TestNoAddress(t *testing.T) {
	test, err := ctest.Parse("f",
		[]byte(of("", "P0(int **x) {\nint *r0 = READ_ONCE(*x);\nWRITE_ONCE(*r0, 1);\n}", "exists (x=1)")))
	require.NoError(t, err)
	v := search(test, ctest.Unknown, true, 1000, 0)
	require.ErrorContains(t, v.err, "f:6: 0 is dereferenced, which is no variable's address")

	test, err = ctest.Parse("f", []byte(of("", "P0(int *x) {\nrcu_read_unlock();\n}", "exists (x=1)")))
	require.NoError(t, err)
	require.ErrorContains(t, search(test, ctest.Unknown, true, 1000, 0).err,
		"f:5: the thread isn't in the section that ends here")
}

// TestStuck: a grace period inside a section of its own thread never ends.
func TestStuck(t *testing.T) {
	test, err := ctest.Parse("f",
		[]byte(of("", "P0(int *x) { rcu_read_lock(); synchronize_rcu(); rcu_read_unlock(); }", "exists (x=0)")))
	require.NoError(t, err)
	v := search(test, ctest.Unknown, true, 1000, 0)
	require.True(t, v.stuck && !v.seen)
}

// FuzzParse: no text makes the parser fall over.
func FuzzParse(f *testing.F) {
	for _, k := range known {
		f.Add([]byte(k.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if test, err := ctest.Parse("f", text); err == nil {
			search(test, ctest.Unknown, false, 50, 0)
		}
	})
}
