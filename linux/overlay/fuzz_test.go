package overlay_test

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
)

// FuzzLink: no object makes Link panic, run on or answer without a file's name.
//
//	go test ./linux/overlay -run '^$' -fuzz FuzzLink
func FuzzLink(f *testing.F) {
	for _, file := range []string{"testdata/small.o", "testdata/small32.o"} {
		seed, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
		for at := 0; at < len(seed); at += 61 { // a byte of each part
			b := append([]byte(nil), seed...)
			b[at] ^= 0xff
			f.Add(b)
			f.Add(seed[:at])
		}
	}
	name := filepath.Join(f.TempDir(), "x.o")
	none, of386 := &vmlinux.Image{Path: "vmlinux"}, fake32(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		im, at := none, uint64(base)
		if len(b) > 4 && b[4] == byte(elf.ELFCLASS32) {
			im, at = of386, base32
		}
		v, err := overlay.Link(im, at, name)
		switch {
		case err != nil && (!strings.HasPrefix(err.Error(), name) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q", err)
		case err == nil:
			for _, a := range v.Fentries {
				v.Bug(a)
			}
		}
	})
}
