//go:build !race

package kprobes

// kunitSchedules is in how many schedules each case of the unit tests is run in each
// edition.
const kunitSchedules = 1000
