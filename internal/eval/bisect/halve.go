package bisect

// A verdict is what the test of a step says.
type verdict uint8

const (
	untested verdict = iota
	good
	bad
	untestable
)

var verdictNames = [...]string{untested: "not tested", good: "good", bad: "bad", untestable: "can't be tested"}

// String returns the verdict in words.
func (v verdict) String() string { return verdictNames[v] }

// halve finds the first bad one of the steps 0 to last, where step 0 is good and the last one is bad. It tests
// few steps: as many as halving takes, and one more for each that can't be tested. first is the first bad one
// as far as is known; from is the last good one before, so that first is the culprit if from is first-1. The error is
// test's.
func halve(last int, test func(step int) (verdict, error)) (from, first int, err error) {
	from, first = 0, last
	unknown := make(map[int]bool)
	for {
		step, ok := middle(from, first, unknown)
		if !ok {
			return from, first, nil
		}
		v, err := test(step)
		if err != nil {
			return from, first, err
		}
		switch v {
		case good:
			from = step
		case bad:
			first = step
		default:
			unknown[step] = true
		}
	}
}

// middle returns the step between two that is nearest to their middle and may be tested; ok is false if there is none.
func middle(from, first int, unknown map[int]bool) (step int, ok bool) {
	mid := from + (first-from)/2
	for n := 0; n < first-from; n++ {
		for _, step := range []int{mid - n, mid + n} {
			if step > from && step < first && !unknown[step] {
				return step, true
			}
		}
	}
	return 0, false
}
