package flags

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Check returns a message about the first flag of a command line that the parser takes and that
// isn't to be taken: one given more than once that has one value, or one out of its range.
func Check(ctx *kong.Context) error {
	if err := repeated(ctx); err != nil {
		return err
	}
	return OutOfRange(ctx)
}

// repeated refuses flags that were given more than once, of which the parser would take the last.
// Lists take all.
func repeated(ctx *kong.Context) error {
	times := make(map[*kong.Flag]int)
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			times[p.Flag]++
		}
	}
	for _, p := range ctx.Path {
		f := p.Flag
		switch n := times[f]; {
		case f == nil || n < 2 || f.IsCumulative():
		case f.IsBool():
			return fmt.Errorf("--%s: it is given %d times; give it once", f.Name, n)
		default:
			return fmt.Errorf("--%s: it is given %d times, and has one value; give it once", f.Name, n)
		}
	}
	return nil
}
