package sched

// Minimise returns a part of list that still fails and is 1-minimal: without any one of
// its elements it doesn't fail. It is ddmin (Zeller and Hildebrandt, "Simplifying and
// isolating failure-inducing input", 2002), with the empty list tried first.
// fails(list) is assumed to be true. fails must not keep its argument, and is called at
// most tests times; if that is too few, the result fails but may not be minimal.
func Minimise[T any](list []T, fails func([]T) bool, tests int) []T {
	list = append([]T(nil), list...)
	try := make([]T, 0, len(list))
	test := func(part []T) bool {
		if tests <= 0 {
			return false
		}
		tests--
		return fails(part)
	}

	if len(list) == 0 || test(try) {
		return nil
	}
	chunked := true // whether the chunks at this n are still to be tried
	for n := 2; len(list) > 1 && tests > 0; {
		n = min(n, len(list))
		chunk := func(i int) (from, to int) { return i * len(list) / n, (i + 1) * len(list) / n }

		reduced := false
		for i := 0; i < n && !reduced && chunked; i++ { // reduce to a chunk
			from, to := chunk(i)
			try = append(try[:0], list[from:to]...)
			reduced = test(try)
		}
		if reduced {
			list, try, n = try, list, 2
			continue
		}
		// reduce to all but a chunk; the last chunk first, because it matters least
		for i := n - 1; i >= 0 && !reduced && n > 2; i-- {
			from, to := chunk(i)
			try = append(append(try[:0], list[:from]...), list[to:]...)
			reduced = test(try)
		}
		switch {
		case reduced:
			list, try, n = try, list, n-1
			chunked = n == 2 // otherwise they were tried already, as chunks of the longer list
		case n >= len(list):
			return list
		default:
			n *= 2
			chunked = true
		}
	}
	return list
}
