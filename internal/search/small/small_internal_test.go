package small

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/properties"
)

// The reference alone notices faults of clients: runs go on whatever property is broken.
func TestReferenceAlone(t *testing.T) {
	for _, c := range []struct {
		world, mutant, what string
		program             []string
	}{
		{"clients", "direct-not-modified", "order", []string{"register_direct(f, t)", "modify_direct(f, u)", "f()"}},
		{"clients", "fprobe-hook-lost", "order", []string{"register_fprobe(p)", "f()"}},
		{"clients", "oldest-client-first", "order", []string{"register_fprobe(p)", "register_fprobe(q)", "f()"}},
		{"clients", "ip-not-recovered", "result", []string{"register(a)", "patch_func(f, g)", "f()"}},
		{"clients", "ipmodify-kept", "answer", []string{"patch_func(f, g)", "livepatch(True)", "patch_func(e, h)"}},
		{"keys", "label-forgotten", "result", []string{"label_on(k)", "insmod(m)", "work()"}},
		{"keys", "static-call-unlisted", "result", []string{"set_call(s, one)", "insmod(m)", "via()"}},
		{"keys", "alternative-skipped", "result", []string{"apply_alternatives()", "boot()"}},
		{"debugger", "debugger-unasked", "answer", []string{"set_breakpoint(f)", "register(b)"}},
		{"returns", "entry-ignored", "handlers", []string{"register(e)", "n()"}},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			for _, mutant := range []string{"", c.mutant} {
				sc, err := Load(c.world, "")
				require.NoError(t, err)
				w, err := New(sc, true)
				require.NoError(t, err)
				e, err := newEngine(w, mutant)
				require.NoError(t, err)
				e.rig.Judges.GoOnAfter(rig.GoOn{Ignored: properties.Every})
				e.take(program(t, w, c.program...))
				e.close()
				if mutant == "" {
					require.Empty(t, e.differs.what)
				} else {
					require.Equal(t, c.what, e.differs.what)
				}
			}
		})
	}
}

// program returns a tree that has pushed these calls.
func program(t *testing.T, w *World, calls ...string) *tree {
	tr := newTree(w, len(calls), nil, nil)
	for _, says := range calls {
		i := slices.IndexFunc(w.letters, func(l *letter) bool { return l.says(w) == says })
		require.GreaterOrEqual(t, i, 0, says)
		require.True(t, tr.push(w.letters[i]), says)
	}
	return tr
}

// A debugger's breakpoint where a probe isn't registered breaks no property while kprobes/enabled is 0.
func TestDebuggerWhileOff(t *testing.T) {
	sc, err := Load("debugger", "")
	require.NoError(t, err)
	w, err := New(sc, true)
	require.NoError(t, err)
	e, err := newEngine(w, "")
	require.NoError(t, err)
	defer e.close()
	require.Empty(t, e.take(program(t, w, "enable(a)", "enabled(False)", "set_breakpoint(f)")))
}
