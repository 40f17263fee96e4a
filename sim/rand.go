package sim

import "math/bits"

// Rand is xoshiro256** by Blackman and Vigna ("Scrambled linear pseudorandom number
// generators", 2021), seeded by splitmix64. It is implemented here so that the stream
// of a seed never changes with a Go release; a golden test pins it. The zero value is
// not seeded.
type Rand struct{ s0, s1, s2, s3 uint64 }

// Seed starts the stream of (seed, stream). Equal pairs give equal streams; different
// ones are independent for all our purposes.
func (r *Rand) Seed(seed, stream uint64) {
	x := seed ^ Mix(stream)
	r.s0, x = splitmix(x)
	r.s1, x = splitmix(x)
	r.s2, x = splitmix(x)
	r.s3, _ = splitmix(x)
}

func splitmix(x uint64) (out, next uint64) {
	x += 0x9e3779b97f4a7c15
	return Mix(x), x
}

// Mix is splitmix64's finalizer: a bijection on 64 bits with good avalanche.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	out := bits.RotateLeft64(r.s1*5, 7) * 9
	t := r.s1 << 17
	r.s2 ^= r.s0
	r.s3 ^= r.s1
	r.s1 ^= r.s2
	r.s0 ^= r.s3
	r.s2 ^= t
	r.s3 = bits.RotateLeft64(r.s3, 45)
	return out
}

// N returns a number in [0, n), n > 0, by multiplication. The bias is below n/2^64. No
// draw is rejected, so one call is one draw.
func (r *Rand) N(n int) int {
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// Gap returns how many boundaries pass before the next event of a process with one
// event per mean boundaries. It is uniform on [0, 2*mean], which has that mean, is
// bounded, and needs no logarithm (and so no float).
func (r *Rand) Gap(mean int) int { return r.N(2*mean + 1) }
