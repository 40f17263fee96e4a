package smp

type names map[string]int

type table struct {
	byName names
	byAddr []int
}
