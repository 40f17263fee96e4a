package cause

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/linux"
)

// TestLooksLike: the witnesses of kernels' finds look like the finds that they are of. Of two it
// isn't known: they break a property that kpsim's own engine doesn't break with the mutant.
func TestLooksLike(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	for i, w := range []struct {
		name  string
		finds []string
	}{
		{"F1-globally-off-alone", []string{"enable-lost"}},
		{"W1-rescued", []string{"rescued-warned"}},
		{"L4-switches", []string{"disarm-lost"}},
		{"P2-neighbours", []string{"blocked-lost"}},
		{"L2-reuse-disabled", []string{"reuse-disabled"}},
		{"W1-ftrace-probe", []string{"ftrace-by-post"}},
		{"W1-module-unload", []string{"unload-kept", "reuse-disabled"}},
		{"H1-forced-freed", []string{"forced-freed", "cancel-rcu"}},
		{"A1-handlers-at-work", nil},
		{"O1-register-race", nil},
	} {
		if i >= 3 && !thorough.Set() {
			continue
		}
		path := filepath.Join("../../../traces/kernels", "6.1-"+w.name+".kps")
		f, err := inputs.ReadTrace(path)
		require.NoError(t, err)
		q, _ := inputs.PropertyByID(f.Property)
		names, err := LooksLike(k, q, f)
		require.NoError(t, err)
		require.Equal(t, w.finds, names, w.name)
	}
}
