//go:build race

package kernel_test

// slow divides what is done many times: the race detector makes it ten times as slow.
const slow = 10
