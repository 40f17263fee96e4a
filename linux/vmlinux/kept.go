package vmlinux

import (
	"crypto/sha256"

	"kpsim/internal/kept"
)

// Unpacking takes most of the time of opening a vmlinuz, about a second. So the result is kept, under the digest of
// the packed file. A result of less than keptLeast bytes isn't.
const keptLeast = 4 << 20

// unpacked are kernels of about 60 MB each.
var unpacked = kept.Kind{Name: "unpacked", Most: 8, Size: loadedMax}

// keep keeps an unpacked kernel.
func keep(packed [sha256.Size]byte, kernel []byte) {
	if len(kernel) >= keptLeast {
		unpacked.Keep(kept.Key(packed), kernel)
	}
}
