package kprobes

import "kpsim/smp/kapi"

// RegisterAll registers probes in order (spec 6.4). The first that can't be
// registered ends it: those before it are unregistered, and its errno is
// returned. None at all is EINVAL. An edition without arrays returns EOPNOTSUPP.
// Context: may sleep.
func (e *Engine) RegisterAll(x kapi.Context, ks []*Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	if len(ks) == 0 {
		return EINVAL
	}
	for i, k := range ks {
		if err := e.Register(x, k); err != nil {
			if i > 0 {
				e.do.Rollback(e, x, ks[:i])
			}
			return err
		}
	}
	return nil
}

// UnregisterAll takes probes away and waits for all of them at once (spec 6.4).
// One that isn't registered has its address cleared, the others go all the same,
// and EINVAL is returned (6.5), which the kernel doesn't tell. Context: may sleep.
func (e *Engine) UnregisterAll(x kapi.Context, ks []*Kprobe) error {
	if !e.s.Batches {
		return EOPNOTSUPP
	}
	return e.do.UnregisterKprobes(e, x, ks)
}
