package sim

import "math/bits"

// A Hash is a digest of words in their order, 128 bits made in two ways side by
// side. The zero value is that of none. Equal words have equal hashes, in every
// run of every program.
type Hash struct{ Hi, Lo uint64 }

// Add takes one more word.
func (h *Hash) Add(w uint64) {
	hi, lo := bits.Mul64(h.Hi^w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	h.Hi = hi ^ lo
	h.Lo = (bits.RotateLeft64(h.Lo, 41) + w ^ 0xa0761d6478bd642f) * 0xe7037ed1a0b428db
}

// AddHash takes a hash as two more words.
func (h *Hash) AddHash(o Hash) {
	h.Add(o.Hi)
	h.Add(o.Lo)
}

// Join takes a hash among others whose order doesn't matter.
func (h *Hash) Join(o Hash) {
	h.Hi += Mix(o.Hi)
	h.Lo += Mix(o.Lo)
}
