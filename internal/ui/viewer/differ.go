package viewer

import (
	"fmt"
	"strings"

	"kpsim/traces/view"
)

// differMost bounds the steps that are removed and inserted between one run and another. Above
// it, everything between the common beginning and the common end is said to differ.
const differMost = 1000

// differ returns the steps of two runs that only one of them has: what remains when as
// many as possible are paired, in their order, with one of the same CPU and text.
func differ(a, b *view.Scene) (onlyA, onlyB []view.Stretch) {
	numbers := make(map[string]int)
	x, y := keys(a, numbers), keys(b, numbers)
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	inX, inY := paired(x[head:len(x)-tail], y[head:len(y)-tail])
	return stretches(inX, head), stretches(inY, head)
}

// stretchesMost is how many stretches a page lists before the story of a run.
const stretchesMost = 5

// An only is what one of two runs has and the other hasn't: the first stretches of it.
type only struct {
	Events, All int
	Stretches   []stretch
	More        int // further stretches
}

// A stretch is from one event to another, by their numbers. Text says what the first is.
type stretch struct {
	From, To uint32
	Text     string
}

// newOnly returns nil if a run has nothing of its own.
func newOnly(s *view.Scene, list []view.Stretch) *only {
	if len(list) == 0 {
		return nil
	}
	o := &only{All: len(s.Steps), More: max(0, len(list)-stretchesMost)}
	for i, l := range list {
		o.Events += l.To - l.From + 1
		if i >= stretchesMost {
			continue
		}
		e := &s.Steps[l.From]
		who := "machine"
		if int(e.Event.CPU) < s.CPUs {
			who = fmt.Sprintf("cpu%d", e.Event.CPU)
		}
		o.Stretches = append(o.Stretches, stretch{e.Event.Seq, s.Steps[l.To].Event.Seq,
			who + ": " + strings.TrimSpace(e.Says)})
	}
	return o
}

// keys numbers the steps of a run: the same CPU and text have the same number.
func keys(s *view.Scene, numbers map[string]int) []int {
	list := make([]int, len(s.Steps))
	for i := range s.Steps {
		key := fmt.Sprint(s.Steps[i].Event.CPU, " ", strings.TrimSpace(s.Steps[i].Says))
		n, ok := numbers[key]
		if !ok {
			n = len(numbers)
			numbers[key] = n
		}
		list[i] = n
	}
	return list
}

// paired reports for each item whether it belongs to a longest common subsequence (E.
// Myers, An O(ND) Difference Algorithm and Its Variations, 1986, the greedy one).
func paired(x, y []int) (inX, inY []bool) {
	inX, inY = make([]bool, len(x)), make([]bool, len(y))
	n, m := len(x), len(y)
	most := min(n+m, differMost)
	v := make([]int, 2*most+3) // the furthest x on each diagonal, x-y
	at := func(k int) *int { return &v[k+most+1] }
	var past [][]int
	for d := 0; d <= most; d++ {
		for k := -d; k <= d; k += 2 {
			i := 0
			switch {
			case d == 0:
			case k == -d || k != d && *at(k - 1) < *at(k + 1):
				i = *at(k + 1)
			default:
				i = *at(k - 1) + 1
			}
			for i < n && i-k < m && x[i] == y[i-k] {
				i++
			}
			*at(k) = i
			if i >= n && i-k >= m {
				back(past, n, m, inX, inY)
				return inX, inY
			}
		}
		past = append(past, append([]int{}, v[most+1-d:most+2+d]...))
	}
	return inX, inY
}

// back traces the path back from the end. past has the furthest points of each round.
func back(past [][]int, i, j int, inX, inY []bool) {
	for d := len(past); d > 0; d-- {
		v := past[d-1] // diagonals -(d-1) to d-1
		of := func(k int) int {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return v[k+d-1]
		}
		k := i - j
		was := k - 1
		if k == -d || k != d && of(k-1) < of(k+1) {
			was = k + 1
		}
		from := of(was)
		start := from
		if was == k-1 {
			start++
		}
		for i > start {
			i--
			j--
			inX[i], inY[j] = true, true
		}
		i, j = from, from-was
	}
	for i > 0 && j > 0 {
		i--
		j--
		inX[i], inY[j] = true, true
	}
}

// stretches returns the stretches in which the list is false. Their steps are shifted by by.
func stretches(in []bool, by int) (list []view.Stretch) {
	for i := range in {
		switch n := len(list) - 1; {
		case in[i]:
		case n >= 0 && list[n].To == i+by-1:
			list[n].To++
		default:
			list = append(list, view.Stretch{From: i + by, To: i + by})
		}
	}
	return list
}
