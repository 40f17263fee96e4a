//go:build !race

package scenariotest

const (
	sweepSchedules = 50
	slow           = 1 // how much less other tests do under the race detector
)

// selftestSchedules is in how many schedules each selftest is run.
const selftestSchedules = 1000
