package scenario

import "go.starlark.net/starlark"

// lockPrefix is what an instruction that is in Locked begins with.
const lockPrefix = 0xf0

// doLocked makes a lock prefix one that comes and goes.
func (l *loader) doLocked(c *call) (starlark.Value, error) {
	return l.site(c, theLocked, &l.s.Locked)
}

// locked checks lock prefixes.
func (c checker) locked() error {
	for i, s := range c.s.Locked {
		p := part{theLocked, i, -1}
		if err := c.function(p, "lock_prefix()", s.Func, s.Offset); err != nil {
			return err
		}
		if c.text(s.Func).Code[s.Offset] != lockPrefix {
			return faultf(p, "lock_prefix(): the byte at %s+%#x isn't a lock prefix, f0; give the place of one that an instruction begins with", s.Func, s.Offset)
		}
	}
	return nil
}
