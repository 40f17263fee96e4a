//go:build race

package kprobes

const less = 20 // how much less tests of many probes do under the race detector
