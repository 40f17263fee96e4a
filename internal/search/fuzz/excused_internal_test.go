package fuzz

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
)

func kernel(t *testing.T, series string) *linux.Kernel {
	t.Helper()
	k, err := linux.Open(kerneltest.Path(t, series))
	require.NoError(t, err)
	kerneltest.Familiar(t, k.Image)
	linux.Give(k)
	return k
}

// Each ban excuses a block of one of the kernels at hand at least: else it is stale.
func TestBansAreUsed(t *testing.T) {
	used := make([]bool, len(bans))
	for _, series := range []string{"6.1", "6.12"} {
		blocks, err := blocksOf(kernel(t, series))
		require.NoError(t, err)
		for i := range blocks {
			b := &blocks[i]
			name, _, _ := strings.Cut(b.Func, ".")
			for k, p := range patterns() {
				used[k] = used[k] || p.in.MatchString(name) && p.has.MatchString(b.text)
			}
		}
	}
	for i, is := range used {
		assert.True(t, is, "%+v excuses nothing", bans[i])
	}
}

// No program comes to a block that a ban excuses, but for those behind a warning and what a
// kernel dies of: known bugs lead there.
func TestBansHold(t *testing.T) {
	for _, series := range []string{"6.12", "6.1"}[:thorough.Of(1, 2)] {
		k := kernel(t, series)
		s, err := New(Spec{On: gen.On{Machines: twoengines.Machines(k), Contract: true, Few: true}, Kernel: k, Seed: 5,
			Each: 2})
		require.NoError(t, err)
		for most := thorough.Of[uint64](10, 512); s.Programs+s.Refused < most; {
			_, err := s.Batch(most - s.Programs - s.Refused)
			require.NoError(t, err)
		}
		for i := range s.reach.blocks {
			b := &s.reach.blocks[i]
			if s.reach.reached[i] && excused[b.Func] == "" && b.Why != warns && b.Why != unloads && b.Why != disarms &&
				b.Why != served {
				assert.Empty(t, b.Why, "%s: %s at %s is reached: %s", series, b.Func, Place(k, b), b.text)
			}
		}
		c := s.Coverage()
		t.Logf("%s: %d of %d blocks by %d programs", series, c.Blocks, c.BlocksAll, s.Programs)
	}
}

// A block's text begins with whether the block before goes on there.
func TestTexts(t *testing.T) {
	blocks, err := blocksOf(kernel(t, "6.1"))
	require.NoError(t, err)
	for i := range blocks {
		require.Regexp(t, regexp.MustCompile(`^(at|after( \[\S+\])?); `), blocks[i].text)
	}
}

// Answers show a fault that no property of a program needs to notice; of the kernel as it is
// they differ only as is known.
func TestOtherwise(t *testing.T) {
	k := kernel(t, "6.1")
	const mutant = "skip-call:pre_handler_kretprobe:rethook_try_get:1"
	differ := 0
	for seed := range thorough.Of[uint64](12, 20) {
		sc, _ := gen.Of(&gen.Recipe{Seed: seed + 1}, gen.On{Machines: twoengines.Machines(k), Contract: true,
			Few: true})
		says, like := Otherwise(k, sc, "")
		require.True(t, says == "" || like != "", "%d: %s", seed+1, says)
		if says, like = Otherwise(k, sc, mutant); says != "" && like == "" {
			differ++
		}
	}
	require.NotZero(t, differ)
}
