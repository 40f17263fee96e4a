package kept

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Key is the digest of all that a kept thing depends on.
type Key [sha256.Size]byte

// KeyOf returns the key of parts. Their lengths count, so two lists of parts have the same key only if they are the
// same.
func KeyOf(parts ...[]byte) (k Key) {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256(p)
		h.Write(sum[:])
	}
	h.Sum(k[:0])
	return k
}

// A Kind is a sort of kept things.
type Kind struct {
	Name string // of the folder below kpsim in the user's cache folder
	Most int    // number of things, of which the least recently used are removed
	Size int64  // maximum size of one, in bytes
}

// Folder returns the folder; "" if there is none.
func (k *Kind) Folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "kpsim", k.Name)
}

// path returns the file of a key, "" if there is no folder.
func (k *Kind) path(key Key) string {
	if folder := k.Folder(); folder != "" {
		return filepath.Join(folder, hex.EncodeToString(key[:]))
	}
	return ""
}

// Get returns what is kept under a key, or nil.
func (k *Kind) Get(key Key) []byte {
	path := k.path(key)
	if path == "" {
		return nil
	}
	s, err := os.Lstat(path)
	if err != nil || !s.Mode().IsRegular() {
		return nil
	}
	if s.Size() >= sha256.Size && s.Size() <= k.Size+sha256.Size {
		file, err := os.ReadFile(path)
		if err != nil || len(file) < sha256.Size {
			return nil
		}
		data := file[sha256.Size:]
		if sum := sha256.Sum256(data); bytes.Equal(sum[:], file[:sha256.Size]) {
			now := time.Now()
			os.Chtimes(path, now, now) // Forget removes the least recently used
			return data
		}
	}
	os.Remove(path)
	return nil
}

// Keep keeps data under a key, and removes old things.
func (k *Kind) Keep(key Key, data []byte) {
	folder := k.Folder()
	if folder == "" || int64(len(data)) > k.Size || os.MkdirAll(folder, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name()) // in case it wasn't renamed
	sum := sha256.Sum256(data)
	_, first := f.Write(sum[:])
	_, second := f.Write(data)
	if cmp.Or(first, second, f.Close()) != nil {
		return
	}
	if os.Rename(f.Name(), k.path(key)) == nil {
		Forget(folder, k.Most)
	}
}

// Forget removes all but the most recently used files or folders of a folder.
func Forget(folder string, most int) {
	all, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range all {
		if info, err := e.Info(); err == nil && (info.Mode().IsRegular() || info.IsDir()) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range files[min(len(files), most):] {
		os.RemoveAll(filepath.Join(folder, info.Name()))
	}
}
