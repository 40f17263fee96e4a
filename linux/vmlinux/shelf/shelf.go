package shelf

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"

	"kpsim/internal/regular"
)

// Variable is the environment variable that names another folder.
const Variable = "KPSIM_KERNELS"

// Folder is where scripts/fetch-kernel puts kernels unless it is told otherwise.
func Folder() string {
	if dir := os.Getenv(Variable); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "kernels"
	}
	return filepath.Join(cache, "kpsim", "kernels")
}

// Files returns the files of a name, one of each release that has it, sorted.
func Files(name string) []string {
	all, _ := filepath.Glob(filepath.Join(Folder(), "*", name)) // the pattern is well-formed
	return all
}

// Find returns the file of a release with a SHA-256 that begins so; "" if none lies there.
func Find(release string, begins []byte) string {
	for _, name := range []string{"vmlinuz", "vmlinux"} {
		for _, path := range Files(name) {
			if filepath.Base(filepath.Dir(path)) == release && has(path, begins) {
				return path
			}
		}
	}
	return ""
}

// Of returns a file of a release by its name; "" if none lies there.
func Of(release, name string) string {
	for _, path := range Files(name) {
		if filepath.Base(filepath.Dir(path)) == release {
			return path
		}
	}
	return ""
}

// has reports whether a file's digest begins so.
func has(path string, begins []byte) bool {
	f, _, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false
	}
	sum := h.Sum(nil)
	return len(begins) > 0 && len(begins) <= len(sum) && string(sum[:len(begins)]) == string(begins)
}
