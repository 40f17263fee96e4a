package small_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/small"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/rules"
)

// run runs a session to its end.
func run(t testing.TB, s *small.Session) []*small.Result {
	t.Helper()
	programs, err := s.Begin()
	require.NoError(t, err)
	require.Positive(t, programs)
	require.NoError(t, s.Run())
	return s.Results()
}

// The right engine gives what the reference says, in each edition.
func TestRight(t *testing.T) {
	for _, edition := range append([]string{""}, rules.EditionNames()...) {
		calls := thorough.Of(2, 3)
		if edition == "" {
			calls = 3
		}
		t.Run(edition, func(t *testing.T) {
			ran := uint64(0)
			for _, r := range run(t, &small.Session{Edition: edition, Calls: calls}) {
				for _, f := range r.Finds {
					t.Errorf("%s: %s in %s: %s: %v (%d)", r.World, f.What, f.After, f.Says, f.Calls, f.Programs)
				}
				require.Equal(t, calls, r.Complete())
				ran += r.Levels[1].Run
			}
			require.Greater(t, ran, uint64(300))
		})
	}
}

// needNone are mutants that a few calls of one task show: the kinds of fault that kernels had. The
// world is the one that shows them, and the program the shortest.
var needNone = map[string]struct {
	world   string
	program []string
}{
	"jump-hidden":     {"jump", []string{"register(b)", "register_all(a, c)"}},
	"module-put-lost": {"module", nil},
	"ftrace-by-post":  {"site", nil},
	"optimize-post":   {"jump", nil},
	"list-bare":       {"jump", []string{"register(d)"}},
	"enable-lost":     {"site", []string{"register(d)", "enabled(False)", "enable(d)"}},

	"entry-ignored":        {"returns", []string{"register(e)"}},
	"missed-free":          {"returns", []string{"register(s)"}},
	"label-forgotten":      {"keys", []string{"label_on(k)", "insmod(m)"}},
	"static-call-unlisted": {"keys", []string{"set_call(s, one)", "insmod(m)"}},
	"prefix-kept":          {"keys", []string{"smp_locks(False)", "insmod(m)"}},
	"alternative-skipped":  {"keys", []string{"apply_alternatives()"}},
	"fprobe-hook-lost":     {"clients", []string{"register_fprobe(p)"}},
	"oldest-client-first":  {"clients", []string{"register_fprobe(p)", "register_fprobe(q)"}},
	"ip-not-recovered":     {"clients", []string{"register(a)", "patch_func(f, g)"}},
	"direct-not-modified":  {"clients", []string{"register_direct(f, t)", "modify_direct(f, u)"}},
	"site-forgotten":       {"clients", []string{"rmmod(m)", "tracer(True)", "insmod(m)"}},
	"debugger-unasked":     {"debugger", []string{"set_breakpoint(f)", "register(b)"}},
	"int3-copied":          {"debugger", []string{"set_breakpoint(f)", "register(a)"}},
	"no-regs-copy":         {"jprobe", []string{"register(j)"}},
	"no-break":             {"jprobe", []string{"register(j)"}},
	"break-long":           {"riscv64", []string{"register(a)"}},
	"no-restore":           {"arm64", []string{"register(a)"}},
}

// Pairs of calls find faults that need two tasks, and the right engine breaks nothing.
func TestBeside(t *testing.T) {
	for _, c := range []struct {
		world, mutant, property string
	}{
		{"keys", "", ""}, {"keys", "static-call-same", "last-setting"}, {"keys", "label-as-is", "last-setting"},
		{"keys", "static-call-unlocked", "sites-agree"}, {"riscv64", "", ""},
	} {
		t.Run(c.world+c.mutant, func(t *testing.T) {
			sc, err := small.LoadBeside(c.world, "")
			require.NoError(t, err)
			b := &small.Beside{Scenario: sc, Mutant: c.mutant, Calls: 1}
			pairs, err := b.Pairs()
			require.NoError(t, err)
			pairs = slices.DeleteFunc(pairs, func(p *small.Pair) bool {
				return p.X != p.Y && !(p.X == "insmod(m)" && strings.HasPrefix(p.Y, "set_call"))
			})
			r, err := b.Run(pairs)
			require.NoError(t, err)
			require.Equal(t, r.Pairs, r.Done)
			require.Greater(t, r.Schedules, 10*r.Pairs)
			if c.property == "" {
				require.Empty(t, r.Finds)
				return
			}
			require.NotEmpty(t, r.Finds)
			require.Equal(t, c.property, r.Finds[0].Property)
			require.Empty(t, r.Finds[0].Pair.First)
		})
	}
}

// TestBesideAfter: pairs come after a call, too, and what is said of a result holds where no probe is registered:
// register(k) claims the site, so patch_func is refused behind it and isn't without it.
func TestBesideAfter(t *testing.T) {
	sc, err := small.LoadBeside("clients", "")
	require.NoError(t, err)
	b := &small.Beside{Scenario: sc, Calls: 2}
	pairs, err := b.Pairs()
	require.NoError(t, err)
	pairs = slices.DeleteFunc(pairs, func(p *small.Pair) bool {
		return !slices.Equal(p.First, []string{"register(k)"}) || p.X != "patch_func(f, g)" ||
			p.Y != "register_direct(f, t)"
	})
	require.Len(t, pairs, 1)
	r, err := b.Run(pairs)
	require.NoError(t, err)
	require.Greater(t, r.Schedules, uint64(10))
	require.Empty(t, r.Finds)
}

// Mutants that need no schedule are found.
func TestMutants(t *testing.T) {
	for name, want := range needNone {
		t.Run(name, func(t *testing.T) {
			var first *small.Find
			for calls := 1; calls <= 3 && first == nil; calls++ {
				for _, r := range run(t, &small.Session{Worlds: []string{want.world}, Mutant: name, Calls: calls}) {
					if len(r.Finds) > 0 && first == nil {
						first = r.Finds[0]
					}
				}
			}
			require.NotNil(t, first)
			if want.program != nil {
				require.Equal(t, want.program, first.Calls)
			}
		})
	}
}
