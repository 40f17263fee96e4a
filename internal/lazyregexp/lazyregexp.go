package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr when it is first called.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
