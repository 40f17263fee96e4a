package smp

func (t *table) sum() (n int) {
	for _, v := range t.byName { // want map-range
		n += v
	}
	for range map[int]bool{} { // want map-range
		n++
	}
	for _, v := range t.byAddr {
		n += v
	}
	for i := range 3 {
		n += i
	}
	n += t.byName["a"]
	clear(t.byName)
	return n
}

func keys[M ~map[K]int, K comparable](m M) (out []K) {
	for k := range m { // want map-range
		out = append(out, k)
	}
	return out
}

func each[S ~[]int](s S) (n int) {
	for _, v := range s {
		n += v
	}
	return n
}
