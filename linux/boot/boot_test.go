package boot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/linux/boot"
)

// Each known series boots its engine, the same for each number of CPUs.
func TestBoot(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		t.Run(series, func(t *testing.T) {
			k, err := linux.Open(kerneltest.Path(t, series))
			require.NoError(t, err)
			for _, cpus := range []int{1, 2, 64} {
				b, err := boot.Kernel(k, cpus)
				require.NoError(t, err)
				again, err := boot.Kernel(k, cpus)
				require.NoError(t, err)
				require.Same(t, b, again)
			}
		})
	}
}
