package scripttest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/version"
)

const root = "../../.."

func versionOf(t *testing.T, name string, args ...string) (v version.Info) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = root
	out, err := c.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &v))
	return v
}

// TestVersionLinked: a package that was built without .git says what the linker was told.
func TestVersionLinked(t *testing.T) {
	thorough.Only(t, "kpsim is linked once more; a package's version is tested where one is built")
	exe := filepath.Join(t.TempDir(), "kpsim")
	const flags = "-X kpsim/internal/version.version=1.2.3-1 -X kpsim/internal/version.commit=c0ffee -X kpsim/internal/version.source=https://example.org/kpsim"
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", exe, "./cmd/kpsim")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	no := false
	require.Equal(t, version.Info{Version: "1.2.3-1", Commit: "c0ffee", Modified: &no,
		Source: "https://example.org/kpsim"}, versionOf(t, exe, "version", "--json"))
}

// TestVersionGoRun: go run notes nothing, so the clone is asked.
func TestVersionGoRun(t *testing.T) {
	git := exec.Command("git", "rev-parse", "HEAD")
	git.Dir = root
	head, err := git.Output()
	if err != nil {
		t.Skip("this is no clone, or there is no git")
	}
	v := versionOf(t, "go", "run", "-buildvcs=false", "./cmd/kpsim", "version", "--json")
	require.Equal(t, strings.TrimSpace(string(head)), v.Commit)
	require.Nil(t, v.Modified)
}
