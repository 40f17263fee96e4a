package archtest

// A Draw is a sequence of numbers (splitmix64: Steele, Lea and Flood, OOPSLA 2014).
type Draw uint64

// Next returns the next number.
func (d *Draw) Next() uint64 {
	*d += 0x9e3779b97f4a7c15
	v := uint64(*d)
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// Below returns a number less than n, which isn't 0.
func (d *Draw) Below(n uint64) uint64 { return d.Next() % n }

// Value returns a register's value: any, small, near a power of two, or of few runs of bits.
func (d *Draw) Value() uint64 {
	v := d.Next()
	switch d.Below(8) {
	case 0:
		return v & 63
	case 1:
		return uint64(1)<<(v&63) - v>>6&1
	case 2:
		return -(v & 63)
	case 3:
		return uint64(int32(v))
	case 4:
		return 1<<31 - v&1
	case 5:
		return ^uint64(0) << (v & 63) >> (v >> 6 & 63)
	}
	return v
}
