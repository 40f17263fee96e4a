package kpsimtest_test // yours

import (
	"testing"

	"kpsim/kpsimtest"
	"kpsim/kpsimtest/build"
)

// patcher builds a scenario: cpu0 patches f by hand, through a breakpoint or a byte at a time, while cpu1 runs it.
func patcher(breakpoint bool) *build.Scenario {
	s := build.New("my-patcher").Says("A patcher of one's own makes five bytes of f a jump to g.")
	s.Machine().CPUs(2).Fetch(build.FetchStale)
	f := s.Text("f", "0f 1f 44 00 00 c3") // nopl 0(%rax,%rax); ret
	g := s.Text("g", "31 c0 c3")          // xor %eax,%eax; ret

	patch := s.Task("patcher")
	if breakpoint {
		patch.Ops(
			build.OnBreakpoint(f).Goto(f.Plus(5)),
			build.Write(f, build.Hex("cc")), build.SyncCore(),
			build.Write(f.Plus(1), build.Displacement(g)), build.SyncCore())
		patch.Ops(build.Write(f, build.Hex("e9")), build.SyncCore())
	} else {
		patch.Ops(build.Write(f, build.JumpTo(g)).By(1))
	}
	s.Task("caller").CPU(1).Ops(build.Call(f).Changed(true), build.Call(f).Changed(true))
	return s
}

// A breakpoint first, then the tail, then the head: each with a sync between.
func TestMyPatcher(t *testing.T) { kpsimtest.Never(t, patcher(true)) }

// Byte by byte, cpu1 runs what is neither.
func TestMyNaivePatcher(t *testing.T) {
	kpsimtest.Sometimes(t, patcher(false), "whole-instructions")
}
