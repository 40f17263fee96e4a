package kprobes

import "kpsim/smp/kapi"

type Jprobe struct{ Kprobe Kprobe }
type jprobeState struct{}

func (e *Engine) newJprobes()   {}
func (e *Engine) renewJprobes() {}

var _ kapi.Context
