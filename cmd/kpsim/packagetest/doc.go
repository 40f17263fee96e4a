// Package packagetest tests how kpsim gets onto a computer: scripts/package makes the
// packages, which are then installed below a folder of the test's own, used, and removed; go
// install is run in the clone and in other modules; and the workflow that runs .ci/run is read.
//
// What it is not: a package with code; it has tests only. They change nothing outside of
// their temporary folders.
//
// Its rule: what a tool is needed for that isn't here is skipped, and the test says so.
package packagetest
