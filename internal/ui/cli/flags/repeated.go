package flags

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Check returns an error for the first flag of a command line that the parser accepts but
// shouldn't: a single-valued flag given more than once, or a value outside its range.
func Check(ctx *kong.Context) error {
	if err := repeated(ctx); err != nil {
		return err
	}
	return OutOfRange(ctx)
}

// repeated refuses flags given more than once, for which the parser would use the last value.
// Lists accept all values.
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
