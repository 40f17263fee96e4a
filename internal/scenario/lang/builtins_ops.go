package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/kprobes/kpev"
)

// errnoOf reads 0, or the name of an errno.
func errnoOf(v starlark.Value) (uint64, error) {
	name, ok := starlark.AsString(v)
	if n, isInt := v.(starlark.Int); isInt && n.Sign() == 0 {
		return 0, nil
	}
	var names []string
	for _, e := range kpev.Errnos {
		if ok && e.Name == name {
			return e.N, nil
		}
		names = append(names, e.Name)
	}
	return 0, fmt.Errorf("errno = %.40s isn't known; it is 0, which is success, or one of %s", v.String(),
		nearest.Quoted(names))
}

// handle reads a probe or a label and returns its name.
func (c *call) handle(what, maker string, v starlark.Value) (string, error) {
	if name, ok := starlark.AsString(v); ok {
		return name, nil // of one that is made further down
	}
	h, ok := v.(handle)
	if !ok || h.what != what {
		return "", fmt.Errorf("%s takes a %s, not %s; give it what %s() returned", c.name, what, describe(v), maker)
	}
	return h.name, nil
}
