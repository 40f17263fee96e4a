package rig_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
)

const moduleData = `
d = data("d", hex = "2900000000000000", at = 0xffffffff83200000)
e = data("e", hex = "0100000000000000", at = 0xffffffff83200ff8 + %s)
inc = text("inc", hex = "ff0425 00002083 8b0425 00002083 c3", at = 0xffffffff81100000)  # incl d; mov d,%%eax; ret
read = text("read", hex = "8b0425 00002083 c3", at = 0xffffffff81200000)  # mov d,%%eax; ret
m = module("m", funcs = [inc], data = [e, d], loaded = %s)
`

// TestModuleData: a module's data are what they are at boot each time it is loaded,
// and aren't accessed when it is gone.
func TestModuleData(t *testing.T) {
	for _, c := range []struct{ name, rest, property, says string }{
		{"each time anew", `task("a", cpu = 0, ops = [insmod(m), call(inc, returns = 42), call(inc, returns = 43), rmmod(m), insmod(m), call(inc, returns = 42), call(read, returns = 42), rmmod(m)])`, "", ""},
		{"loaded", `task("a", cpu = 0, ops = [call(inc, returns = 42), rmmod(m), insmod(m), call(inc, returns = 42)])`,
			"", ""},
		{"after it is gone", `task("b", cpu = 0, ops = [call(read, changed = True), user()], repeat = 20)
task("a", cpu = 1, ops = [call(inc, changed = True), rmmod(m)])`, "S1", "reads or writes d+0x0, in the freed module's section at "},
	} {
		for _, next := range []string{"0", "8"} { // in the same page, or in the next
			t.Run(c.name+" "+next, func(t *testing.T) {
				loaded := "False"
				if c.name != "each time anew" {
					loaded = "True"
				}
				sc := searchtest.LoadTinier(t, `preempt = "full"`, fmt.Sprintf(moduleData, next, loaded)+c.rest)
				again, err := lang.Load("again.star", []byte(lang.Print(sc)), os.ReadFile)
				require.NoError(t, err)
				require.Equal(t, sc.Modules, again.Modules)
				rig, err := rig.New(sc, "")
				require.NoError(t, err)
				defer rig.Close()
				random := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
				found := 0
				for i := range uint64(200) {
					random.Begin(i)
					run := rig.Run(random)
					if run.Outcome == smp.Passed {
						continue
					}
					require.Equal(t, c.property, run.Property.ID, "%v %s", run.Err, run.Finding.Message)
					require.Contains(t, rig.Readable(run.Finding.Message), c.says)
					found++
				}
				require.Equal(t, c.property != "", found > 0)
			})
		}
	}
}

// TestModuleBuilds: what a kernel without modules, or without unloading, answers.
func TestModuleBuilds(t *testing.T) {
	for modules, answers := range map[string][2]string{"unload": {"0", "0"}, "stay": {"0", `"ENOSYS"`},
		"none": {`"ENOSYS"`, `"ENOSYS"`}} {
		sc := searchtest.LoadTinier(t, fmt.Sprintf(`modules = %q`, modules), fmt.Sprintf(`
f = text("f", hex = "c3", at = 0xffffffff81100000)
m = module("m", funcs = [f])
task("a", ops = [insmod(m, errno = %s), rmmod(m, errno = %s)])
`, answers[0], answers[1]))
		again, err := lang.Load("again.star", []byte(lang.Print(sc)), os.ReadFile)
		require.NoError(t, err)
		require.Equal(t, sc.Machine, again.Machine)
		rig, err := rig.New(sc, "")
		require.NoError(t, err)
		require.Equal(t, smp.Passed, rig.Run(new(sched.Default)).Outcome, modules)
		rig.Close()
	}
}
