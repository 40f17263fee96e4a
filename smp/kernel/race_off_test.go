//go:build !race

package kernel_test

// slow divides what is done many times, where the race detector is on.
const slow = 1
