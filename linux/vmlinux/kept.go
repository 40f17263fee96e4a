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

// Unpacking a vmlinuz takes a second, which is most of what opening it takes. What came
// out is kept in the user's cache, under the digest of the file that it came out of. A
// kept file begins with its own digest: one that was cut off or changed is made again.
// Whatever goes wrong with the cache, the kernel is unpacked.

// keptMost is how many kernels are kept, of some 60 MB each; what has less than keptLeast
// bytes is unpacked at once.
const (
	keptMost  = 8
	keptLeast = 4 << 20
)

// keptFolder is where unpacked kernels lie, "" if there is no place for them.
func keptFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "kpsim", "unpacked")
}

// kept returns what was kept of the vmlinuz with that digest, nil if there is nothing.
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
	os.Chtimes(path, now, now) // forget goes by the last use
	return kernel
}

// keep keeps a kernel that was unpacked, and as many of the others as there is room for.
func keep(packed [sha256.Size]byte, kernel []byte) {
	folder := keptFolder()
	if folder == "" || len(kernel) < keptLeast || os.MkdirAll(folder, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name()) // if it wasn't renamed
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

// forget removes the kernels that were used longest ago, but for keptMost.
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
