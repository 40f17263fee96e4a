// Package scenariotest tests package kprobes by scenarios, with every property checked.
//
// It has no code of its own, and no package imports it. It is a package beside kprobes because
// the searches would be compiled a second time for external tests of kprobes.
package scenariotest
