package kept_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/kept"
)

// What is kept is returned; a damaged, foreign or too long file is thrown away.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	k := &kept.Kind{Name: "things", Most: 2, Size: 100}
	one := kept.KeyOf([]byte("a"), []byte("bc"))
	require.NotEqual(t, one, kept.KeyOf([]byte("ab"), []byte("c")))
	require.Nil(t, k.Get(one))
	k.Keep(one, []byte("all of it"))
	require.Equal(t, "all of it", string(k.Get(one)))

	files, err := filepath.Glob(filepath.Join(dir, "kpsim", "things", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	good, err := os.ReadFile(files[0])
	require.NoError(t, err)
	bad := append([]byte(nil), good...)
	bad[len(bad)-1] ^= 1
	for name, data := range map[string][]byte{"a bit": bad, "truncated": good[:len(good)-1], "empty": nil,
		"foreign": []byte("hello"), "too long": append(make([]byte, 200), good...)} {
		require.NoError(t, os.WriteFile(files[0], data, 0o600))
		require.Nil(t, k.Get(one), name)
		require.NoFileExists(t, files[0], name)
		k.Keep(one, []byte("all of it"))
		require.NotNil(t, k.Get(one))
	}

	k.Keep(kept.KeyOf([]byte("large")), make([]byte, 101))
	require.Nil(t, k.Get(kept.KeyOf([]byte("large"))))

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(files[0], old, old))
	for _, name := range []string{"x", "y"} {
		k.Keep(kept.KeyOf([]byte(name)), []byte(name))
	}
	require.Nil(t, k.Get(one), "the least recently used goes")
	require.NotNil(t, k.Get(kept.KeyOf([]byte("x"))))

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600)) // no folder can be made
	k.Keep(one, []byte("x"))
	require.Nil(t, k.Get(one))
}
