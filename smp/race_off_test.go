//go:build !race

package smp_test

// slow divides what is done many times, where the race detector is on.
const slow = 1
