// Package storm draws programs and runs each under many schedules: storms of API calls, or
// whole scenarios.
//
// What it is not: it doesn't draw them itself. Package scenario/gen does.
//
// Its rule: program n depends on the seed and n alone, so the result doesn't depend on the
// number of workers.
package storm
