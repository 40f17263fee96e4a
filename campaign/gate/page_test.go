package gate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThreatsPage: each test that docs/campaigns-threats.md names is there.
func TestThreatsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/campaigns-threats.md")
	require.NoError(t, err)
	files, err := filepath.Glob("../*/*_test.go")
	require.NoError(t, err)
	there := make(map[string]bool)
	for _, f := range files {
		src, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(src, -1) {
			there[string(m[1])] = true
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(page, -1)
	require.Greater(t, len(named), 15)
	for _, m := range named {
		require.True(t, there[string(m[1])], "%s", m[1])
	}
}
