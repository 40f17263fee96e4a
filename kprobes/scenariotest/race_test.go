//go:build race

package scenariotest

// The race detector makes runs some twenty times slower, and a run is one goroutine.
const (
	sweepSchedules = 8
	slow           = 10 // how much less other tests do
)

// selftestSchedules is in how many schedules each selftest is run.
const selftestSchedules = 20
