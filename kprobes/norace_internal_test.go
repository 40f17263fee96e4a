//go:build !race

package kprobes

const less = 1 // how much less tests of many probes do under the race detector

// kunitSchedules is in how many schedules each case of the unit tests is run in each
// edition.
const kunitSchedules = 1000
