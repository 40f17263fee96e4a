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

// Folder returns the folder in which scripts/fetch-kernel puts kernels by default.
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

// Files returns the files with a name, one for each release that has it, sorted.
func Files(name string) []string {
	all, _ := filepath.Glob(filepath.Join(Folder(), "*", name)) // the pattern is well-formed
	return all
}

// Find returns the file of a release whose SHA-256 begins with begins; "" if there is none.
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

// Kernel returns the kernel of a release; "" if there is none.
func Kernel(release string) string {
	for _, name := range []string{"vmlinuz", "vmlinux"} {
		if path := Of(release, name); path != "" {
			return path
		}
	}
	return ""
}

// Of returns the file with a name of a release; "" if there is none.
func Of(release, name string) string {
	for _, path := range Files(name) {
		if filepath.Base(filepath.Dir(path)) == release {
			return path
		}
	}
	return ""
}

// has reports whether a file's digest begins with begins.
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
