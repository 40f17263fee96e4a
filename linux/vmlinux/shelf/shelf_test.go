package shelf_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/linux/vmlinux/shelf"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(shelf.Variable, dir)
	put := func(release, name, data string) string {
		path := filepath.Join(dir, release, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
		return path
	}
	one, two := put("6.1.0-1-amd64", "vmlinuz", "one"), put("6.1.0-2-amd64", "vmlinuz", "two")
	debug := put("6.1.0-1-amd64", "vmlinux", "debug")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "6.1.0-3-amd64", "vmlinuz"), 0o755))

	sum := func(data string) []byte { s := sha256.Sum256([]byte(data)); return s[:8] }
	for _, c := range []struct {
		release string
		begins  []byte
		want    string
	}{
		{"6.1.0-1-amd64", sum("one"), one},
		{"6.1.0-2-amd64", sum("two"), two},
		{"6.1.0-1-amd64", sum("debug"), debug},
		{"6.1.0-2-amd64", sum("one"), ""},
		{"6.1.0-3-amd64", sum(""), ""}, // a folder
		{"../" + filepath.Base(dir) + "/6.1.0-1-amd64", sum("one"), ""},
		{"*", sum("one"), ""},
		{"6.1.0-1-amd64", nil, ""},
		{"6.1.0-1-amd64", make([]byte, 40), ""},
	} {
		assert.Equal(t, c.want, shelf.Find(c.release, c.begins), "%s %x", c.release, c.begins)
	}
	assert.Equal(t, dir, shelf.Folder())
	assert.Len(t, shelf.Files("vmlinuz"), 3)
}

func TestFolder(t *testing.T) {
	t.Setenv(shelf.Variable, "")
	t.Setenv("XDG_CACHE_HOME", "/var/cache/me")
	assert.Equal(t, "/var/cache/me/kpsim/kernels", shelf.Folder())
}
