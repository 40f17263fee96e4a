package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
)

// TestBrokenMemory: a kernel that is broken in memory breaks the property that is about
// it, in words; the same kernel unbroken breaks none.
func TestBrokenMemory(t *testing.T) {
	for _, c := range []struct {
		name, scenario, series string
		breaks                 func(k *linux.Kernel) int // nil: nothing
		property               *properties.Property
		says                   string
	}{
		{"clean", "safe-full", "6.1", nil, nil, ""},
		{"clean", "safe-full", "6.12", nil, nil, ""},
		{"freed twice", "safe-full", "6.12", func(k *linux.Kernel) int {
			return k.Twice("kfree")
		}, &properties.NoMemoryMisuse, "has freed: it is freed again by "},
		{"out of bounds", "safe-full", "6.1", func(k *linux.Kernel) int { return k.Shorter("kmalloc_trace") },
			&properties.NoMemoryMisuse, "(out of bounds): byte "},
		{"atomic", "safe-full", "6.1", func(k *linux.Kernel) int {
			return k.Atomic("kmalloc_trace")
		}, &properties.Locks, "memory is allocated with GFP_KERNEL by "},
		{"never freed", "safe-full", "6.12", func(k *linux.Kernel) int {
			return k.Without("kfree")
		}, &properties.NoLeak, "were never freed: a struct optimized_kprobe: "},
		{"user space", "safe-full", "6.1", func(k *linux.Kernel) int { return k.At("kmalloc_trace", 0x7fff_0000_1000) },
			&properties.NoMemoryMisuse, "it is an address of user space, and "},
		{"a module's", "testdata/wild.star", "6.1", func(k *linux.Kernel) int {
			return k.At("kmalloc_trace", 0xffff_ffff_8110_0000)
		}, &properties.NoUseAfterFree, "in the freed module's section at "},
		{"warns", "return-frameless", "6.1", func(*linux.Kernel) int {
			return 1
		}, &properties.NoWarning, "WARN at kernel/trace/rethook.c:"},
	} {
		t.Run(c.name+" "+c.series, func(t *testing.T) {
			k, err := linux.Open(kerneltest.Path(t, c.series))
			require.NoError(t, err)
			if c.breaks != nil {
				require.Positive(t, c.breaks(k))
			}
			linux.Give(k)
			sc := load(t, c.scenario)
			require.NoError(t, onlinux.Set(sc, k))
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			shape, _ := r.Survey(0)
			s := sched.NewRandom(sched.Params{Shape: shape})
			for i := range thorough.Of[uint64](80, 400) {
				s.Begin(i)
				var ch sim.Chooser = s
				if i == 0 {
					ch = new(sched.Default)
				}
				run := r.Run(ch)
				if c.property == nil {
					require.Nil(t, run.Property, run.Finding.Message)
					continue
				}
				if run.Property != nil && run.Property.ID == c.property.ID {
					require.Contains(t, run.Finding.Message, c.says)
					t.Logf("run %d: %s", i, run.Finding.Message)
					return
				}
			}
			if c.property != nil {
				t.Errorf("%s was not broken", c.property.Name)
			}
		})
	}
}
