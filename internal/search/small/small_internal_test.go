package small

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/smp/arch/target"
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
				e, err := newEngine(w, mutant, properties.Every)
				require.NoError(t, err)
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
	e, err := newEngine(w, "", 0)
	require.NoError(t, err)
	defer e.close()
	require.Empty(t, e.take(program(t, w, "enable(a)", "enabled(False)", "set_breakpoint(f)")))
}

// What the reference reads of instructions: the values, and distances from an instruction's end.
func TestDialects(t *testing.T) {
	for _, c := range []struct {
		processor target.Processor
		hex       string
		does      effect
		v         int
	}{
		{target.RISCV64, "557d", gives, -1},
		{target.RISCV64, "4501", gives, 0},
		{target.RISCV64, "fff00513", gives, -1},
		{target.RISCV64, "0509", adds, 2},
		{target.RISCV64, "1571", adds, -4},
		{target.RISCV64, "7ff50513", adds, 2047},
		{target.RISCV64, "357d", descends, 0},
		{target.RISCV64, "fe054ee3", skips, -8},
		{target.RISCV64, "00054463", skips, 4},
		{target.RISCV64, "ff7ff0ef", calls, -14},
		{target.RISCV64, "0010e0ef", calls, 0xe800 - 4},
		{target.RISCV64, "8082", returns, 0},
		{target.RISCV64, "00050593", nothing, 0},
		{target.RISCV64, "0585", nothing, 0},
		{target.ARM64, "529fffe0", gives, 65535},
		{target.ARM64, "113ffc00", adds, 4095},
		{target.ARM64, "51000400", descends, 0},
		{target.ARM64, "37ffffe0", skips, -8},
		{target.ARM64, "97fffffd", calls, -16},
		{target.ARM64, "d65f03c0", returns, 0},
		{target.ARM64, "52800001", nothing, 0},
		{target.ARM64, "11000401", nothing, 0},
		{target.PPC64LE, "3860fffe", gives, -2},
		{target.PPC64LE, "3863ffff", descends, -1},
		{target.PPC64LE, "38630002", adds, 2},
		{target.PPC64LE, "4180fffc", skips, -8},
		{target.PPC64LE, "4bfffff9", calls, -12},
		{target.PPC64LE, "4e800020", returns, 0},
		{target.PPC64LE, "38830002", nothing, 0},
	} {
		code, err := hex.DecodeString(c.hex)
		require.NoError(t, err)
		slices.Reverse(code) // a number, little endian
		in := dialects[c.processor].effect(code)
		require.Equal(t, c.does, in.does, "%v %s", c.processor, c.hex)
		if in.does != nothing && in.does != descends {
			require.Equal(t, c.v, in.v, "%v %s", c.processor, c.hex)
		}
	}
}

// The own engines of other processors do what the reference says, but for what is known: riscv64's keeps its slots.
func TestKernels(t *testing.T) {
	slots, err := properties.Named(properties.NoUseAfterFree.Name, properties.NoRemains.Name)
	require.NoError(t, err)
	for world, ignored := range map[string]properties.Set{"riscv64": slots, "arm64": 0, "ppc64le": 0} {
		t.Run(world, func(t *testing.T) {
			k, err := linux.Open(kerneltest.PathOn(t, world, "6.12"))
			require.NoError(t, err)
			s := &Session{Worlds: []string{world}, Kernel: k, Calls: thorough.Of(2, 4), Ignored: ignored}
			_, err = s.Begin()
			require.NoError(t, err)
			require.NoError(t, s.Run())
			for _, r := range s.Results() {
				require.Greater(t, r.Levels[1].Run, uint64(500))
				for _, f := range r.Finds {
					require.Equal(t, "enable-lost", f.Known, "%v: %s", f.Calls, f.Says)
				}
			}
		})
	}
}
