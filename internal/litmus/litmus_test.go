package litmus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFiles: folders are walked in the order of paths, for NAME.litmus; a file that is named
// may be called anything; none is run twice.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"d/b.litmus", "d/a/z.litmus", "d/readme", "one.txt"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	require.NoError(t, os.Symlink("one.txt", "d/link.litmus"))
	list, err := files([]string{"one.txt", "d"})
	require.NoError(t, err)
	require.Equal(t, []file{{"one.txt", false}, {"d/a/z.litmus", true}, {"d/b.litmus", true}}, list)
	_, err = files([]string{"d/b.litmus", "d"})
	require.EqualError(t, err, "d/b.litmus is named twice; name it once")
	_, err = files([]string{"one.txt", ""})
	require.ErrorContains(t, err, "a name is empty")
}

// TestAgainst: what a comment expects, and what was seen.
func TestAgainst(t *testing.T) {
	require.Equal(t, "Never", observation(0, 3))
	require.Equal(t, "Always", observation(3, 0))
	require.Equal(t, "Sometimes", observation(1, 1))
	for _, c := range []struct {
		expected, seen string
		against        bool
	}{{"", "Never", false}, {"Never", "Never", false}, {"Never", "Sometimes", true}, {"Sometimes", "Never", true},
		{"Sometimes", "Always", false}, {"Always", "Sometimes", true}} {
		require.Equal(t, c.against, against(c.expected, c.seen), c)
	}
}
