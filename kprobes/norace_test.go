//go:build !race

package kprobes_test

const sweepSchedules = 50
