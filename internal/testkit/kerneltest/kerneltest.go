package kerneltest

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kpsim/linux/vmlinux"
	"kpsim/linux/vmlinux/shelf"
)

// Open returns the newest kernel of a series: "6.1", or of a flavour of it,
// "6.1-rt", "6.12-cloud". All tests of a process share it, so none may move it.
func Open(t testing.TB, series string) *vmlinux.Image {
	t.Helper()
	return opens(t, Path(t, series))
}

// opens returns an opened file, which all tests of a process share.
func opens(t testing.TB, path string) *vmlinux.Image {
	t.Helper()
	opened.Lock()
	defer opened.Unlock()
	if im := opened.images[path]; im != nil {
		return im
	}
	im, err := vmlinux.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	opened.images[path] = im
	return im
}

var opened = struct {
	sync.Mutex
	images map[string]*vmlinux.Image
}{images: map[string]*vmlinux.Image{}}

// Path returns the file of the newest vmlinuz of a series.
func Path(t testing.TB, series string) string {
	t.Helper()
	return newest(t, series, "vmlinuz", "scripts/fetch-kernel")
}

// Familiar skips a test that knows the kernel's code as gcc 12 has compiled it, where another compiler has: which
// function is inlined, and where, differs.
func Familiar(t testing.TB, im *vmlinux.Image) {
	t.Helper()
	if !strings.Contains(im.Banner, "gcc-12 ") {
		t.Skipf("%s wasn't compiled by gcc 12, whose code this test knows: run scripts/fetch-kernel on Debian 12",
			im.Release)
	}
}

// Debug returns the file of the newest vmlinux with debug information of a series.
func Debug(t testing.TB, series string) string {
	t.Helper()
	return newest(t, series, "vmlinux", "scripts/fetch-kernel --dbg")
}

func newest(t testing.TB, series, file, run string) string {
	t.Helper()
	found := all(series, file)
	if len(found) == 0 {
		t.Skipf("no %s of %s at hand: run %s; KPSIM_KERNELS names another folder than %s", file, series, run,
			shelf.Folder())
	}
	return found[len(found)-1]
}

// Files returns every vmlinuz of a series, the newest last; nil: none is at hand.
func Files(series string) []string { return all(series, "vmlinuz") }

func all(series, file string) (found []string) {
	version, flavour, _ := strings.Cut(series, "-")
	for _, path := range shelf.Files(file) {
		release := filepath.Base(filepath.Dir(path))
		if m := release61.FindStringSubmatch(release); m != nil && m[1] == version && m[3] == flavour {
			found = append(found, path)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return compareNumbers(filepath.Dir(a), filepath.Dir(b)) })
	return found
}

// "6.1.0-56-rt-amd64", "6.12.111+deb12-amd64", "6.14.0-37-generic": the series, the rest, the flavour.
var release61 = regexp.MustCompile(`^(\d+\.\d+)([.+~\w]*(?:-\d+)?)(?:-([a-z]+))?-(?:amd64|generic)$`)

// I386 returns the file of the newest vmlinux for i386, with its symbols and DWARF: the
// vmlinuz of Debian's has neither types nor names of data.
func I386(t testing.TB) string {
	t.Helper()
	var found []string
	for _, path := range shelf.Files("vmlinux") {
		if release386.MatchString(filepath.Base(filepath.Dir(path))) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skipf("no vmlinux for i386 at hand: run dpkg --add-architecture i386, apt-get update, and "+
			"scripts/fetch-kernel --dbg linux-image-6.1.0-50-686; KPSIM_KERNELS names another folder than %s",
			shelf.Folder())
	}
	return slices.MaxFunc(found, func(a, b string) int { return compareNumbers(filepath.Dir(a), filepath.Dir(b)) })
}

// "6.1.0-50-686", "6.1.0-50-686-pae".
var release386 = regexp.MustCompile(`-686(-pae)?$`)

// foreign is how the releases of Debian's kernels for other processors end, by their names in scenarios.
var foreign = map[string]string{"riscv64": "-riscv64", "arm64": "-arm64", "ppc64le": "-powerpc64le"}

// OpenOn returns the newest kernel of a series for another processor: "riscv64", "arm64" or "ppc64le". All tests of a
// process share it, so none may move it.
func OpenOn(t testing.TB, processor, series string) *vmlinux.Image {
	t.Helper()
	return opens(t, PathOn(t, processor, series))
}

// PathOn returns its file.
func PathOn(t testing.TB, processor, series string) string {
	t.Helper()
	return newestOn(t, processor, series, "vmlinuz", "")
}

// DebugOn returns the file of its vmlinux with debug information.
func DebugOn(t testing.TB, processor, series string) string {
	t.Helper()
	return newestOn(t, processor, series, "vmlinux", " --dbg")
}

// AllOn returns the files of every vmlinuz of a series for another processor.
func AllOn(processor, series string) []string { return filesOn(processor, series, "vmlinuz") }

func filesOn(processor, series, file string) (found []string) {
	for _, path := range shelf.Files(file) {
		release := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(release, series+".") && strings.HasSuffix(release, foreign[processor]) {
			found = append(found, path)
		}
	}
	return found
}

func newestOn(t testing.TB, processor, series, file, option string) string {
	t.Helper()
	found := filesOn(processor, series, file)
	if len(found) == 0 {
		t.Skipf("no %s of %s for %s at hand: run scripts/fetch-kernel -a %s%s; KPSIM_KERNELS names another folder "+
			"than %s", file, series, processor, processor, option, shelf.Folder())
	}
	return slices.MaxFunc(found, func(a, b string) int { return compareNumbers(filepath.Dir(a), filepath.Dir(b)) })
}

// All returns the files of every vmlinuz for x86-64 that is at hand, sorted by name.
func All(t testing.TB) []string {
	t.Helper()
	list := slices.DeleteFunc(shelf.Files("vmlinuz"), func(path string) bool {
		release := filepath.Base(filepath.Dir(path))
		other := release386.MatchString(release)
		for _, end := range foreign {
			other = other || strings.HasSuffix(release, end)
		}
		return other
	})
	if len(list) == 0 {
		t.Skipf("no kernel at hand: run scripts/fetch-kernel; KPSIM_KERNELS names another folder than %s",
			shelf.Folder())
	}
	return list
}

var number = regexp.MustCompile(`\d+`)

// compareNumbers compares the numbers in two names, one after the other.
func compareNumbers(a, b string) int {
	x, y := number.FindAllString(filepath.Base(a), -1), number.FindAllString(filepath.Base(b), -1)
	return slices.CompareFunc(x, y, func(a, b string) int {
		m, _ := strconv.Atoi(a)
		n, _ := strconv.Atoi(b)
		return cmp.Compare(m, n)
	})
}

// ObjectsOf returns the objects that scripts/kernel-objects made beside a kernel, by name.
func ObjectsOf(t testing.TB, kernel string) (files []string) {
	t.Helper()
	dir := filepath.Dir(kernel)
	_ = filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".o" && filepath.Base(path)[0] != '.' {
			files = append(files, path)
		}
		return err
	})
	if len(files) == 0 {
		t.Skipf("no objects of %[1]s at hand: run scripts/kernel-objects %[1]s", filepath.Base(dir))
	}
	return files
}
