package build

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Digest returns the name of this program's build: twelve characters, a to f and digits.
func Digest() (string, error) {
	h := sha256.New()
	if info, ok := debug.ReadBuildInfo(); ok && clean(info) {
		fmt.Fprintln(h, info.GoVersion)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "-tags" || s.Key == "-ldflags" || s.Key == "-gcflags" {
				fmt.Fprintln(h, s.Key, s.Value)
			}
		}
		for _, m := range info.Deps {
			fmt.Fprintln(h, m.Path, m.Version, m.Sum)
		}
		return short(h.Sum(nil)), nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(exe)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return short(h.Sum(nil)), nil
}

func short(sum []byte) string { return fmt.Sprintf("%x", sum[:6]) }

// clean reports whether the program was built from a commit without changes.
func clean(info *debug.BuildInfo) bool {
	revision, modified := false, true
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value != ""
		case "vcs.modified":
			modified = s.Value != "false"
		}
	}
	return revision && !modified
}
