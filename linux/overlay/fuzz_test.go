package overlay_test

import (
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
	seed, err := os.ReadFile("testdata/small.o")
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
	name := filepath.Join(f.TempDir(), "x.o")
	im := &vmlinux.Image{Path: "vmlinux"}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := overlay.Link(im, base, name)
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
