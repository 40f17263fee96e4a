package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/smp/arch"
)

// storeBuffering is two functions that store one word and load the other's, with a loop of 20
// rounds before and after: 124 instructions each.
const storeBuffering = `
machine(cpus = 2, memory = "tso")
d = data("d", at = 0xffffffff83000000, hex = "00000000000000000000000000000000ffffffffffffffff")
# movl $20,%ecx; decl %ecx; jnz; movl $1,(%rdi); movl 8(%rdi),%eax; movl %eax,16(%rdi); the loop; ret
f = text("f", hex = "b914000000 ffc9 75fc c70701000000 8b4708 894710 b914000000 ffc9 75fc c3")
g = text("g", hex = "b914000000 ffc9 75fc c7470801000000 8b07 894714 b914000000 ffc9 75fc c3")
task(cpu = 0, ops = [call(f, d, changed = True)])
task(cpu = 1, ops = [call(g, d, changed = True)])
`

// TestStoreBuffering: each strategy that draws finds two loads that both go past the stores
// before them, which no schedule of sequential consistency shows, and not where nothing is
// held.
func TestStoreBuffering(t *testing.T) {
	const both = arch.Addr(0xffffffff83000010)
	runs := uint64(thorough.Of(1500, 4000) / searchtest.Slow)
	for _, memory := range []string{"tso", "sc"} {
		sc := searchtest.Load(t, storeBuffering)
		require.NoError(t, sc.SetMemory(memory))
		r, err := rig.New(sc, "")
		require.NoError(t, err)
		defer r.Close()
		length := r.Run(new(sched.Default)).Counts.Points
		for _, s := range sched.All {
			if s.Name == "deviations" || s.Name == "default" {
				continue
			}
			st := s.New(sched.Params{Seed: 1, Length: length})
			seen := 0
			for i := range runs {
				st.Begin(i)
				o := sched.ObserverOf(st)
				r.Observe(o)
				run := r.Run(st)
				st.End(run.Counts.Points)
				if v, ok := r.Machine.Memory().Load(both, 8); ok && v == 0 {
					seen++
				}
			}
			t.Logf("%s, %s: %.2f %% of runs", memory, s.Name, 100*float64(seen)/float64(runs))
			require.Equal(t, memory == "tso", seen > 0, "%s, %s", memory, s.Name)
		}
	}
}
