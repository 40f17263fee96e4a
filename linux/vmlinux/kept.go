package vmlinux

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

// Unpacking takes most of the time of opening a vmlinuz, about a second. The result is cached in
// the user's cache folder, under the digest of the packed file. A cached file begins with its own
// digest; a truncated or changed one is replaced. If the cache fails in any way, the kernel is
// unpacked.

// keptMost is the maximum number of cached kernels, of about 60 MB each. A result of less than
// keptLeast bytes isn't cached.
const (
	keptMost  = 8
	keptLeast = 4 << 20
)

// keptFolder returns the cache folder, or "" if there is none.
func keptFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "kpsim", "unpacked")
}

// kept returns the cached kernel for a vmlinuz with that digest, or nil.
func kept(packed [sha256.Size]byte) []byte {
	folder := keptFolder()
	if folder == "" {
		return nil
	}
	path := filepath.Join(folder, hex.EncodeToString(packed[:]))
	if s, err := os.Lstat(path); err != nil || !s.Mode().IsRegular() || s.Size() > loadedMax {
		return nil
	}
	file, err := os.ReadFile(path)
	if err != nil || len(file) < sha256.Size {
		return nil
	}
	kernel := file[sha256.Size:]
	if sum := sha256.Sum256(kernel); !bytes.Equal(sum[:], file[:sha256.Size]) {
		return nil
	}
	now := time.Now()
	os.Chtimes(path, now, now) // forget removes the least recently used
	return kernel
}

// keep caches an unpacked kernel, and removes old ones.
func keep(packed [sha256.Size]byte, kernel []byte) {
	folder := keptFolder()
	if folder == "" || len(kernel) < keptLeast || os.MkdirAll(folder, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name()) // in case it wasn't renamed
	sum := sha256.Sum256(kernel)
	_, first := f.Write(sum[:])
	_, second := f.Write(kernel)
	if cmp.Or(first, second, f.Close()) != nil {
		return
	}
	if os.Rename(f.Name(), filepath.Join(folder, hex.EncodeToString(packed[:]))) == nil {
		forget(folder)
	}
}

// forget removes all but the keptMost most recently used kernels.
func forget(folder string) {
	all, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range all {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range files[min(len(files), keptMost):] {
		os.Remove(filepath.Join(folder, info.Name()))
	}
}
