package boot

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"kpsim/linux"
	"kpsim/linux/compile"
	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux/shelf"
)

// opening is held while a kernel is looked for.
var opening sync.Mutex

// Given returns the kernel of an ID (linux.Kernel.ID): one that was given, or otherwise the file where
// scripts/fetch-kernel puts it, with objects that kpsim has compiled; for "" the one that was given last. Any goroutine
// may call it.
func Given(id string) (*linux.Kernel, error) {
	opening.Lock()
	defer opening.Unlock()
	k, err := linux.Given(id)
	if err == nil || id == "" {
		return k, err
	}
	path := lies(id)
	if path == "" {
		return nil, err
	}
	if k, err = linux.Open(path, laid(id)...); err != nil {
		return nil, err
	}
	if k.ID() != id {
		return nil, fmt.Errorf("it runs the kernel %s with object files laid over it; give them with --kernel "+
			"%s --objects FILE,…", k.ID(), path)
	}
	linux.Give(k)
	return k, nil
}

// laid returns the objects that the kernel of an ID has laid over it, if kpsim has compiled them and has kept them: the
// ID's fourth word is the beginning of their digest.
func laid(id string) []string {
	words := strings.Split(id, " ")
	if len(words) < 4 {
		return nil
	}
	for _, objects := range compile.Sets() {
		if d, err := overlay.DigestOf(objects...); err == nil && strings.HasPrefix(hex.EncodeToString(d[:]), words[3]) {
			return objects
		}
	}
	return nil
}

// lies returns the file of an ID, "" if there is none: the ID's first word is the release, its third one the
// beginning of the digest.
func lies(id string) string {
	words := strings.Split(id, " ")
	if len(words) < 3 {
		return ""
	}
	begins, err := hex.DecodeString(words[2])
	if err != nil {
		return ""
	}
	return shelf.Find(words[0], begins)
}
