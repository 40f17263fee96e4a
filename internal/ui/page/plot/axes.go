package plot

import (
	"math"
	"strconv"
	"strings"
)

// LogAxis makes an axis logarithmic, once the plot's data was added.
func LogAxis(a *Axis) {
	switch {
	case a.Min > a.Max: // nothing was
		a.Min, a.Max = 1, 10
	case a.Max/a.Min < 1.2: // almost equal values are drawn in the middle
		a.Min, a.Max = a.Min/1.2, a.Max*1.2
	}
	a.Log, a.Ticks = true, logTicks
}

// constant are marks that don't depend on the range.
func constant(ticks []Tick) func(low, high float64) []Tick {
	return func(_, _ float64) []Tick { return ticks }
}

// DoublingAxis makes an axis logarithmic with marks at 1, 2, 4, … up to most.
func DoublingAxis(a *Axis, most int) {
	var ticks []Tick
	for n := 1; n <= most; n *= 2 {
		ticks = append(ticks, Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	a.Min, a.Max = 1, float64(most)
	a.Log, a.Ticks = true, constant(ticks)
}

// logTicks marks 1, 2 and 5 times powers of ten; over a wide range only the powers, over a narrow one round numbers.
func logTicks(low, high float64) (list []Tick) {
	if high/low < 5 {
		return roundTicks(low, high)
	}
	wide := high/low > 200
	for e := int(math.Floor(math.Log10(low))); e <= int(math.Ceil(math.Log10(high))); e++ {
		for m := 1.0; m < 10; m++ {
			t := Tick{Value: m * math.Pow10(e)}
			if t.Value < low || t.Value > high {
				continue
			}
			if m == 1 || !wide && (m == 2 || m == 5) {
				t.Label = tickLabel(t.Value)
			}
			list = append(list, t)
		}
	}
	return list
}

// mostRound is how many marks an axis of round numbers has, at most.
const mostRound = 6

// roundTicks marks round numbers, at least three.
func roundTicks(low, high float64) (list []Tick) {
	step := math.Pow10(int(math.Floor(math.Log10((high-low)/mostRound))) - 1)
	for i := 0; math.Floor(high/step)-math.Ceil(low/step) >= mostRound; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, …
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for n := math.Ceil(low / step); n <= math.Floor(high/step); n++ {
		label := strconv.FormatFloat(n*step, 'f', decimals, 64)
		if decimals == 0 {
			label = tickLabel(n * step)
		}
		list = append(list, Tick{n * step, label})
	}
	return list
}

// CountsAxis makes an axis one of counts, from 0.
func CountsAxis(a *Axis) {
	a.Min, a.Max = 0, max(a.Max, 1)
	a.Ticks = countTicks
}

// mostCounts is how many marks an axis of counts has, at most, besides that at 0.
const mostCounts = 5

// countTicks marks round whole numbers.
func countTicks(_, high float64) (list []Tick) {
	step := 1.0
	for i := 0; high/step > mostCounts; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, …
	}
	for v := 0.0; v <= high; v += step {
		list = append(list, Tick{Value: v, Label: tickLabel(v)})
	}
	return list
}

// tickLabel is short: labels of powers of ten stand close.
func tickLabel(v float64) string {
	if v >= 10_000 {
		return Thousands(v/1000) + "k"
	}
	return Thousands(v)
}

// Thousands writes a number without an exponent, and with commas between thousands.
func Thousands(v float64) string {
	whole, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	if rest != "" {
		rest = "." + rest
	}
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return whole + rest
}

// ninesPerPoint is the least distance of an ECDF's points, in powers of ten of the share above: nearer ones look the
// same.
const ninesPerPoint = 0.04

// Nines returns the ECDF of a list in ascending order, for axes of LogAxis and NinesAxis. The line is at the share of
// the list that is below a value; so the largest is on it. Values that aren't above 0 count as below everything on a
// logarithmic axis.
func Nines(list []float64) (points XYs) {
	last := math.Inf(-1)
	for i, v := range list {
		y := Nine(float64(i) / float64(len(list)))
		if v > 0 && (y-last >= ninesPerPoint || i == len(list)-1) {
			points = append(points, XY{X: v, Y: y})
			last = y
		}
	}
	return points
}

// Nine returns where a share is on an axis of NinesAxis.
func Nine(share float64) float64 { return math.Abs(math.Log10(1 - share)) } // not -0

// ECDF returns, for AddLine with steps, the share of n values that are at most each value of a list in ascending
// order. Values missing from the list count as above all of it.
func ECDF(list []float64, n int) (points XYs) {
	for i, v := range list {
		points = append(points, XY{X: v, Y: float64(i) / float64(n)})
	}
	if len(list) > 0 {
		points = append(points, XY{X: list[len(list)-1], Y: float64(len(list)) / float64(n)})
	}
	return points
}

// SharesAxis makes an axis one of shares from none to all.
func SharesAxis(a *Axis) {
	a.Min, a.Max = 0, 1.02 // the line at the top is whole
	a.Percent = true
	a.Ticks = constant([]Tick{{Value: 0, Label: "0"}, {Value: 0.25, Label: "25 %"}, {Value: 0.5, Label: "50 %"},
		{Value: 0.75, Label: "75 %"}, {Value: 1, Label: "100 %"}})
}

// NinesAxis makes an axis, once the plot's data was added, one of shares on which 90 %, 99 %, 99.9 %, … are equally
// spaced.
func NinesAxis(a *Axis) {
	ticks := []Tick{{Value: 0, Label: "0"}, {Value: math.Log10(2), Label: "50 %"}}
	a.Min, a.Max = 0, max(a.Max, 1)+0.05 // the line at the top is whole
	a.Percent, a.Value = true, func(y float64) float64 { return 1 - math.Pow(10, -y) }
	for y := 1.0; y <= a.Max; y++ {
		ticks = append(ticks,
			Tick{Value: y, Label: strconv.FormatFloat(100-math.Pow10(2-int(y)), 'f', max(0, int(y)-2), 64) + " %"})
	}
	a.Ticks = constant(ticks)
}
