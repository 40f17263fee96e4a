package sim

import "math/bits"

// A Hash is a digest of a sequence of words: 128 bits, two independent halves. The zero
// value is the hash of the empty sequence. Equal sequences have equal hashes, in every
// run of every program.
type Hash struct{ Hi, Lo uint64 }

// Add appends one word.
func (h *Hash) Add(w uint64) {
	hi, lo := bits.Mul64(h.Hi^w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	h.Hi = hi ^ lo
	h.Lo = (bits.RotateLeft64(h.Lo, 41) + w ^ 0xa0761d6478bd642f) * 0xe7037ed1a0b428db
}

// AddWords appends words as Add does one by one, and at less cost: between two of them
// the halves stay in registers.
func (h *Hash) AddWords(words []uint64) {
	first, second := h.Hi, h.Lo
	for _, w := range words {
		hi, lo := bits.Mul64(first^w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
		first = hi ^ lo
		second = (bits.RotateLeft64(second, 41) + w ^ 0xa0761d6478bd642f) * 0xe7037ed1a0b428db
	}
	h.Hi, h.Lo = first, second
}

// AddHash appends a hash as two words.
func (h *Hash) AddHash(o Hash) {
	h.Add(o.Hi)
	h.Add(o.Lo)
}

// Join adds a hash to a set: the order of Joins doesn't matter.
func (h *Hash) Join(o Hash) {
	h.Hi += Mix(o.Hi)
	h.Lo += Mix(o.Lo)
}
