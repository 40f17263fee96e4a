package extract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/litmus/run"
	"kpsim/internal/search/replay"
	"kpsim/sched"
)

// exported makes runs of a scenario until one is as wanted, and returns its test.
func exported(t *testing.T, text string, words []string, wanted func(*replay.Replay) bool) (*Test, error) {
	for seed := range uint64(1000) {
		s, err := sched.New("random", sched.Params{Seed: seed, Length: 100})
		require.NoError(t, err)
		r := replayOf(t, text, s)
		t.Cleanup(r.Rig.Close)
		if wanted(r) {
			return Make(r, "traces/test.kps", "test", words)
		}
	}
	t.Fatal("no run is as wanted")
	return nil, nil
}

func breaks(r *replay.Replay) bool { return r.Property != nil }
func ends(r *replay.Replay) bool   { return r.Property == nil }

// lines are those of a test without its comment.
func lines(text string) string {
	_, body, _ := strings.Cut(text, " *)\n")
	return body
}

// buffering is the scenario of docs/memory.md. between comes between the store and the load.
func buffering(between string) string {
	return strings.Replace(`machine(cpus = 2, memory = "tso")
x = data("x", size = 8)
y = data("y", size = 8)
saw = data("saw", size = 16)
look = text("look", "c7 07 01 00 00 00  BETWEEN 8b 06  89 02  c3")
either = text("either", "8b 07  0b 47 08  c3")
task("one", cpu = 0, ops = [call(look, x, y, saw, changed = True), wait_signal(), call(either, saw, returns = 1)])
task("two", cpu = 1, ops = [call(look, y, x, saw + 8, changed = True), signal()])
`, "BETWEEN", between, 1)
}

// Store buffering: what the property is about is left, and nothing else.
func TestStoreBuffering(t *testing.T) {
	got, err := exported(t, buffering(""), nil, breaks)
	require.NoError(t, err)
	require.Equal(t, `{ x=0; y=0; }
 P0            | P1            ;
 movl $1,(x)   | movl $1,(y)   ;
 movl (y),%eax | movl (x),%eax ;
exists (0:rax=0 /\ 1:rax=0)
`, lines(got.text))
	require.Contains(t, got.text, "memory model tso")
	require.Contains(t, got.text, "The run breaks X2 right-result")
	require.Contains(t, got.text, "Shared too, and left out: saw+0x8; 1 variables of the kernel's routines.")
	require.True(t, holdsUnder(t, got.text, run.TSO))
	require.False(t, holdsUnder(t, got.text, run.SC))
}

// With a fence, which is kept, no run is like that. All words are there if the run is
// sequentially consistent, and those that are named in any case.
func TestFenced(t *testing.T) {
	// mfence; lock orl $0,(%rsp); xchg %ecx,-8(%rsp)
	for _, fence := range []string{"0f ae f0", "f0 83 0c 24 00", "87 4c 24 f8"} {
		got, err := exported(t, buffering(fence), nil, ends)
		require.NoError(t, err)
		require.Contains(t, got.text, "is sequentially consistent in the words")
		require.Equal(t, 2, strings.Count(lines(got.text), "mfence"), got.text)
		require.Contains(t, lines(got.text), "(saw_8)")

		got, err = exported(t, buffering(fence), []string{"x", "y"}, ends)
		require.NoError(t, err)
		require.NotContains(t, lines(got.text), "saw")
		require.Regexp(t, `exists \(0:rax=[01] /\\ 1:rax=1\)|exists \(0:rax=1 /\\ 1:rax=[01]\)`, got.text)
		require.True(t, holdsUnder(t, got.text, run.TSO))
	}
}

// passing is a message and its flag, of which one is more than an int holds, and a reader
// that looks until it is there, three times at most.
const passing = `machine(cpus = 2, memory = "tso")
x = data("x", size = 8)
y = data("y", size = 8)
sends = text("sends", "c7 07 00 00 00 f1  48 89 3e  c3")
reads = text("reads", "b9 03 00 00 00  48 8b 06  48 85 c0  75 04  ff c9  75 f4  8b 07  c3")
task("sender", cpu = 0, ops = [call(sends, x, y, changed = True)])
task("reader", cpu = 1, ops = [call(reads, x, y, changed = True)])
`

// Message passing: loads that see the same again are left out; large values have numbers.
func TestMessagePassing(t *testing.T) {
	got, err := exported(t, passing, nil, func(r *replay.Replay) bool {
		return ends(r) && r.Counts.Instructions == 3+1+5+3+2 // it has looked twice
	})
	require.NoError(t, err)
	require.Equal(t, `{ x=0; y=0; }
 P0                | P1            ;
 movl $1000001,(x) | movl (y),%eax ;
 movl $1000002,(y) | movl (y),%ebx ;
                   | movl (x),%ecx ;
exists (1:rax=0 /\ 1:rbx=1000002 /\ 1:rcx=1000001)
`, lines(got.text))
	require.Contains(t, got.text, "1000001 stands for 0xf1000000.")
	require.True(t, holdsUnder(t, got.text, run.TSO))
	require.True(t, holdsUnder(t, got.text, run.SC))
}

// Locked instructions load and store at once; the last value is part of the condition.
func TestLocked(t *testing.T) {
	got, err := exported(t, `machine(cpus = 2, memory = "sc")
n = data("n", size = 8)
add = text("add", "f0 ff 07  c3")
take = text("take", "31 c0  b9 05 00 00 00  f0 0f b1 0f  c3")
task("one", cpu = 0, ops = [call(add, n)])
task("two", cpu = 1, ops = [call(take, n, changed = True)])
`, nil, ends)
	require.NoError(t, err)
	require.Contains(t, lines(got.text), "xchgl %eax,(n)")
	require.Contains(t, lines(got.text), "/\\ [n]=")
	require.True(t, holdsUnder(t, got.text, run.SC))
}

// What can't be said is refused, by one line that says what to do.
func TestRefused(t *testing.T) {
	_, err := exported(t, buffering(""), []string{"sow"}, breaks)
	require.EqualError(t, err, `--words: CPUs share no word called "sow"; did you mean "saw"?`)

	pieces := strings.Replace(buffering(""), "0b 47 08", "0b 47 08  48 8b 4f 08", 1)
	_, err = exported(t, pieces, []string{"saw"}, ends)
	require.EqualError(t, err, "--words: saw+0x8 is accessed in pieces: a litmus test can't say that; leave it out")
	got, err := exported(t, pieces, nil, ends)
	require.NoError(t, err)
	require.Contains(t, strings.Join(strings.Fields(got.text), " "),
		"Shared too, and left out: saw+0x8, which is accessed in pieces.")

	_, err = exported(t, `machine(cpus = 2)
f = text("f", "55 5d c3")
task(cpu = 0, ops = [call(f)])
task(cpu = 1, ops = [call(f)])
`, nil, ends)
	require.ErrorContains(t, err, "CPUs share no word of memory that is known in this run")

	_, err = exported(t, `machine(cpus = 2)
x = data("x", size = 8)
f = text("f", "b9 14 00 00 00  8b 07  ff 07  ff c9 75 f8  c3")
task(cpu = 0, ops = [call(f, x, changed = True)])
task(cpu = 1, ops = [call(f, x, changed = True)])
`, nil, ends)
	require.ErrorContains(t, err,
		" loads more than 15 values, and a litmus test has as many registers: name the words that matter with --words, of x")
}
