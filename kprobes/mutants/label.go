package mutants

import (
	"kpsim/engine/jumplabel"
	"kpsim/smp/kapi"
)

type label = jumplabel.Label

// The orders of a key.
var (
	keyPublishes = kapi.DefineBarrier("jump_label: the text, then the key", kapi.OrderRelease,
		"static_key_slow_inc_cpuslocked, kernel/jump_label.c: atomic_set_release(&key->enabled, 1); of the "+
			"mutants with a key")
	keyCounts = kapi.DefineBarrier("jump_label: count a key", kapi.OrderFull,
		"static_key_slow_inc_cpuslocked: atomic_try_cmpxchg(&key->enabled); of the mutants with a key")
)

// keyed makes f switch labels, given the count of the label's key (static_key.enabled).
func keyed(f func(l *label, enabled *kapi.Var[int], x context, on bool, p kapi.Patcher)) func(*Wiring) {
	return func(w *Wiring) {
		if w.Deps.Labels == nil {
			return
		}
		all := w.Deps.Labels.All()
		keys := make([]kapi.Var[int], len(all))
		for i := range keys {
			keys[i].Init(w.Deps.Cells, 0)
			if all[i].First() {
				keys[i].Set(1)
			}
		}
		w.Deps.Labels.Turn = func(l *label, x context, on bool, p kapi.Patcher) {
			for i := range all {
				if all[i] == l {
					f(l, &keys[i], x, on, p)
				}
			}
		}
	}
}

// keyEarly counts before it patches, and decides by the count.
func keyEarly(l *label, enabled *kapi.Var[int], x context, on bool, p kapi.Patcher) {
	if on && kapi.Add(enabled, x, keyCounts, 1) == 1 || !on && kapi.Add(enabled, x, keyCounts, -1) == 0 {
		l.Update(x, on, p)
	}
}

// keyKept is static_key_slow_inc and static_key_slow_dec. A task that is the last user, and then finds that another
// has come and is going, checks again whether it isn't the last, and if it is does nothing.
func keyKept(l *label, enabled *kapi.Var[int], x context, on bool, p kapi.Patcher) {
	if on {
		if above(enabled, x, 0, 1) {
			return
		}
		l.Lock(x)
		if !above(enabled, x, 0, 1) {
			l.Write(x, true, p)
			enabled.StoreRelease(x, keyPublishes, 1)
		}
		l.Unlock(x)
		return
	}
	if above(enabled, x, 1, -1) {
		return
	}
	l.Lock(x)
	if enabled.Swap(x, keyCounts, 1, 0) {
		l.Write(x, false, p)
	} else {
		above(enabled, x, 1, -1)
	}
	l.Unlock(x)
}

// above adds d to a count if it is above least, and reports whether it was (point).
func above(enabled *kapi.Var[int], x context, least, d int) bool {
	n := enabled.RMW(x, keyCounts)
	if *n <= least {
		return false
	}
	*n += d
	return true
}

// keyStays uses the key's old count, the wrong way round, to decide whether to turn it off.
func keyStays(l *label, enabled *kapi.Var[int], x context, on bool, p kapi.Patcher) {
	l.Lock(x)
	if was := enabled.Swap(x, keyCounts, 1, 0); on || !was {
		l.Write(x, on, p)
	}
	if on {
		enabled.WriteOnce(x, 1)
	}
	l.Unlock(x)
}

// labelAsked checks that a label's text exists before it takes text_mutex.
func labelAsked(l *label, _ *kapi.Var[int], x context, on bool, p kapi.Patcher) {
	l.Lock(x)
	here := l.Here()
	x.Step("jump_label_update", 1)
	if here {
		l.WriteBlind(x, on, p)
	} else {
		l.Write(x, on, p)
	}
	l.Unlock(x)
}

// labelGone doesn't check that.
func labelGone(l *label, _ *kapi.Var[int], x context, on bool, p kapi.Patcher) {
	l.Lock(x)
	l.WriteBlind(x, on, p)
	l.Unlock(x)
}
