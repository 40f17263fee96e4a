package plot

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A line without points is none; bars without lengths have an axis all the same; what isn't a
// number isn't drawn.
func TestNothingToDraw(t *testing.T) {
	p := New("x", "y")
	require.NoError(t, p.AddLine(0, nil, true))
	LogAxis(&p.X)
	NinesAxis(&p.Y)
	require.NotContains(t, p.SVG(Height), "--s0")
	bars := New("x", "")
	require.NoError(t, bars.AddBars([]string{"a"}, [][]float64{{0}}))
	require.Error(t, bars.AddBars([]string{"a"}, [][]float64{{0, 1}}))
	for _, svg := range []string{p.SVG(Height), bars.SVG(BarsHeight(1)), New("", "").SVG(Height)} {
		require.NotContains(t, svg, "NaN")
		require.NotContains(t, svg, "Inf")
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		require.Error(t, p.AddLine(0, XYs{{1, v}}, false))
		require.Error(t, p.AddBars([]string{"a"}, [][]float64{{v}}))
		require.Error(t, p.AddRanges([]string{"a"}, []Range{{1, 1, 1, v}}))
	}
}

// An axis has a length whatever is on it, and a line of steps goes up before it goes on.
func TestAxes(t *testing.T) {
	p := New("", "")
	require.NoError(t, p.AddLine(0, XYs{{X: 3, Y: 0}}, true))
	LogAxis(&p.X)
	NinesAxis(&p.Y)
	require.Less(t, p.X.Min, 2.9)
	require.Greater(t, p.X.Max, 3.1)
	require.GreaterOrEqual(t, p.Y.Max, 1.0)

	p = New("", "")
	require.NoError(t, p.AddLine(3, XYs{{X: 1, Y: 0}, {X: 10, Y: 1}}, true))
	svg := p.SVG(Height)
	m := regexp.MustCompile(`<path d="M([\d.]+),([\d.]+)L([\d.]+),([\d.]+)L([\d.]+),([\d.]+)" style="fill:none;stroke:var\(--s3\)`).FindStringSubmatch(svg)
	require.NotNil(t, m)
	require.Equal(t, m[1], m[3], "up first")
	require.Equal(t, m[4], m[6])
	require.Less(t, number(t, m[4]), number(t, m[2]))
}

// Pieces lie end to end, bars from the top down beside their names.
func TestBars(t *testing.T) {
	p := New("x", "")
	require.NoError(t, p.AddBars([]string{"a", "b"}, [][]float64{{10, 30}, {20, 0}}))
	svg := p.SVG(Height)
	type box struct{ left, right, low, high float64 }
	boxes := map[string][]box{}
	for _, m := range regexp.MustCompile(`<path d="M([\d.]+),([\d.]+)L([\d.]+),[\d.]+L[\d.]+,([\d.]+)L[^"]*" style="fill:url\(#(hatch-\d)\)`).FindAllStringSubmatch(svg, -1) {
		boxes[m[5]] = append(boxes[m[5]], box{number(t, m[1]), number(t, m[3]), number(t, m[2]), number(t, m[4])})
	}
	require.Len(t, boxes["hatch-0"], 2)
	a, b := boxes["hatch-0"][0], boxes["hatch-0"][1] // from above
	require.InEpsilon(t, 3*(a.right-a.left), b.right-b.left, 0.01)
	require.InEpsilon(t, a.left, b.left, 0.001)
	more := boxes["hatch-1"][0]
	require.InEpsilon(t, a.right, more.left, 0.001)
	require.InEpsilon(t, b.right, more.right, 0.001)
	require.InEpsilon(t, a.low, more.low, 0.001)
	require.Less(t, a.high, b.low)
	for name, box := range map[string]box{"a": a, "b": b} {
		m := regexp.MustCompile(`<text x="[\d.]+" y="([\d.]+)"[^>]*>` + name + `</text>`).FindStringSubmatch(svg)
		require.NotNil(t, m, name)
		y := number(t, m[1])
		require.True(t, box.low < y && y < box.high, "%s is beside its bar", name)
	}
}

// Ranges lie from the top down beside their names, the middle and the farthest on them.
func TestRanges(t *testing.T) {
	p := New("x", "")
	require.NoError(t, p.AddRanges([]string{"a", "b"}, []Range{{10, 20, 30, 50}, {1, 2, 3, 100}}))
	svg := p.SVG(Height)
	lines := regexp.MustCompile(`<path d="M([\d.]+),([\d.]+)L([\d.]+),([\d.]+)" style="fill:none;stroke:var\(--s1\)`).FindAllStringSubmatch(svg, -1)
	require.Len(t, lines, 2)
	a, b := lines[0], lines[1]
	require.Equal(t, a[2], a[4], "it lies")
	require.Less(t, number(t, a[2]), number(t, b[2]), "the first is the uppermost")
	require.InEpsilon(t, 10*(number(t, b[3])-number(t, b[1])), number(t, a[3])-number(t, a[1]), 0.05, "20 to 2")
	dots := regexp.MustCompile(`<circle cx="([\d.]+)"[^>]* style="fill:var\(--s1\)`).FindAllStringSubmatch(svg, -1)
	require.Len(t, dots, 2)
	require.InDelta(t, (number(t, a[1])+number(t, a[3]))/2, number(t, dots[0][1]), 0.1, "the middle")
	farthest := regexp.MustCompile(`<path d="M([\d.]+),[^"]*" style="fill:none;stroke:var\(--s2\)`).FindAllStringSubmatch(svg, -1)
	require.Len(t, farthest, 2)
	require.InEpsilon(t, 2*(number(t, a[3])-number(t, a[1])), number(t, farthest[0][1])-number(t, a[1]), 0.01,
		"10 to 50 is twice 10 to 30")
	require.Error(t, p.AddRanges([]string{"a"}, nil))
	require.NoError(t, New("", "").AddRanges(nil, nil))
}

// By hand: of four values three are known.
func TestECDF(t *testing.T) {
	require.Equal(t, XYs{{X: 1, Y: 0}, {X: 1, Y: 0.25}, {X: 8, Y: 0.5}, {X: 8, Y: 0.75}}, ECDF([]float64{1, 1, 8}, 4))
	require.Empty(t, ECDF(nil, 4))
	p := New("", "")
	require.NoError(t, p.AddLine(0, ECDF([]float64{1, 1, 8}, 4), true))
	SharesAxis(&p.Y)
	require.Zero(t, p.Y.Min)
	require.Greater(t, p.Y.Max, 1.0, "a line at all of them is seen")
	require.Equal(t, "100 %", p.Y.Ticks(0, 0)[4].Label)
}

func TestCountsAxis(t *testing.T) {
	for high, want := range map[float64]string{0: "0 1", 1: "0 1", 5: "0 1 2 3 4 5", 6: "0 2 4 6", 17: "0 5 10 15",
		52: "0 20 40", 100: "0 20 40 60 80 100", 190_366: "0 50k 100k 150k"} {
		p := New("", "")
		p.X.Min, p.X.Max = 3, high
		CountsAxis(&p.X)
		require.Zero(t, p.X.Min)
		var labels []string
		for _, tick := range p.X.Ticks(p.X.Min, p.X.Max) {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, want, strings.Join(labels, " "), "up to %g", high)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.05: "0.05", 999: "999", 1000: "1,000", 100_000: "100,000",
		1234567.5: "1,234,567.5", -100: "-100", -1000: "-1,000"} {
		require.Equal(t, want, Thousands(v))
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0.3, 8, "0.5 1 2 5"},
		{1, 100_000, "1 10 100 1,000 10k 100k"},
		{0.04, 2, "0.05 0.1 0.2 0.5 1 2"},
		{2.1, 3.2, "2.2 2.4 2.6 2.8 3.0 3.2"},
	} {
		var labels []string
		for _, tick := range logTicks(c.low, c.high) {
			require.True(t, tick.Value >= c.low && tick.Value <= c.high || c.high/c.low < 5)
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		require.Equal(t, c.want, strings.Join(labels, " "))
	}
}

// Round marks lie within their range, at least three of them, as far from each other.
func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"}, {0, 100, "0 20 40 60 80 100"}, {-3, 3, "-2 0 2"}, {0, 1.3e6, "0 500k 1,000k"},
		{0.001, 0.0042, "0.001 0.002 0.003 0.004"}} {
		var labels []string
		for _, tick := range roundTicks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, c.want, strings.Join(labels, " "))
	}
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(1e-3, 1e6).Draw(t, "length")
		ticks := roundTicks(low, high)
		require.GreaterOrEqual(t, len(ticks), 2)
		require.LessOrEqual(t, len(ticks), mostRound+1)
		for i, tick := range ticks {
			require.True(t, tick.Value >= low && tick.Value <= high)
			if i > 0 {
				require.NotEqual(t, ticks[i-1].Label, tick.Label)
			}
		}
	})
}

// Texts are laid out by the widths of Helvetica.
func TestTextWidth(t *testing.T) {
	require.Len(t, helvetica, '~'-' '+1)
	require.InDelta(t, (667+500+0.0)*textSize/1000, textWidth("Ac"), 0.01)
	require.InDelta(t, (2*556+278+889+0.0)*textSize/1000, textWidth("10 %"), 0.01)
}

// By hand: of ten values the first is above none, the last above nine tenths.
func TestNines(t *testing.T) {
	list := []float64{-1, 0, 3, 4, 5, 6, 7, 8, 9, 90}
	points := Nines(list)
	require.Len(t, points, 8, "a logarithmic axis has neither -1 nor 0")
	require.Equal(t, XY{X: 90, Y: 1}, points[7])
	require.InDelta(t, math.Log10(1/0.8), points[0].Y, 1e-12)
	require.Empty(t, Nines(nil))

	p := New("", "")
	require.NoError(t, p.AddLine(0, XYs{{X: 1, Y: 4.6}}, false))
	NinesAxis(&p.Y)
	var labels []string
	for _, tick := range p.Y.Ticks(0, 0) {
		labels = append(labels, tick.Label)
	}
	require.Equal(t, []string{"0", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"}, labels)

	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(0.001, 1e6), 1, 3000).Draw(t, "list")
		slices.Sort(list)
		points := Nines(list)
		require.Equal(t, list[0], points[0].X)
		require.Equal(t, list[len(list)-1], points[len(points)-1].X)
		require.LessOrEqual(t, len(points), 2+int(math.Log10(float64(len(list)))/ninesPerPoint)+1)
		for i := 1; i < len(points); i++ {
			require.Greater(t, points[i].Y, points[i-1].Y)
			require.GreaterOrEqual(t, points[i].X, points[i-1].X)
		}
	})
}

// Error bars lie at their points, have two caps, and widen the axes to what they reach; an
// end on the wrong side of its point is at the point.
func TestErrors(t *testing.T) {
	p := New("x", "y")
	require.NoError(t, p.AddLine(2, XYs{{1, 10}, {2, 20}}, false))
	require.NoError(t, p.AddErrors(2,
		[]Error{{At: 10, Low: 5, High: 30, Other: 1}, {At: 20, Low: 22, High: 25, Other: 2}},
		false))
	require.Equal(t, [4]float64{1, 2, 5, 30}, [4]float64{p.X.Min, p.X.Max, p.Y.Min, p.Y.Max})
	require.Equal(t, 20.0, p.errors[1].Low)
	require.Equal(t, 7, strings.Count(p.SVG(Height), "stroke:var(--s2)")) // the line, two bars, four caps

	lying := New("x", "")
	require.NoError(t, lying.AddBars([]string{"a", "b"}, [][]float64{{3, 4}}))
	require.NoError(t, lying.AddErrors(0, []Error{{At: 3, Low: 2, High: 6, Other: 1}}, true))
	require.Equal(t, [2]float64{0, 6}, [2]float64{lying.X.Min, lying.X.Max})
	require.Error(t, lying.AddErrors(0, []Error{{At: 3, Low: 2, High: math.NaN()}}, true))
	require.NoError(t, lying.AddErrors(1, []Error{{At: 4, Low: 2, High: math.Inf(1)}}, true))
	require.Equal(t, 6.0, lying.X.Max, "an open end widens nothing")
	require.Equal(t, 2, strings.Count(lying.SVG(Height), "stroke:var(--s1)"), "the bar and one cap")
	require.Contains(t, lying.SVG(Height), "(2 to unbounded)")
}

// A mark says its series, row and values; they are at the plot's foot, and in the CSV.
func TestValues(t *testing.T) {
	p := New("µs a hit", "share of hits")
	p.Series = []string{"", "kprobe"}
	require.NoError(t, p.AddLine(1, XYs{{0.5, Nine(0)}, {1234.5678, Nine(0.999)}}, true))
	LogAxis(&p.X)
	NinesAxis(&p.Y)
	svg := p.SVG(Height)
	require.Contains(t, svg, "<title>kprobe: 0.5 µs a hit, 0 % share of hits</title>")
	require.Contains(t, svg, ">kprobe: 1,235 µs a hit, 99.9 % share of hits</text>")
	require.Equal(t, 2, Marks(svg))
	require.Equal(t, [][]string{{"kprobe", "", "0.5", "0", "", ""}, {"kprobe", "", "1234.6", "0.999", "", ""}}, p.CSV())

	long := New("", "")
	var points XYs
	for i := range 1000 {
		points = append(points, XY{float64(i), 1})
	}
	require.NoError(t, long.AddLine(0, points, false))
	require.Equal(t, mostPoints, Marks(long.SVG(Height)), "a keyboard doesn't stop at each")
	require.Len(t, long.CSV(), 1000)

	bars := New("µs", "")
	bars.Series = []string{"hardware", "dispatch"}
	require.NoError(t, bars.AddBars([]string{"a", "b"}, [][]float64{{1, 0}, {2, 3}}))
	require.NoError(t, bars.AddErrors(0, []Error{{At: 3, Low: 2.5, High: 3.5, Other: 1}}, true))
	svg = bars.SVG(BarsHeight(2))
	require.Contains(t, svg, "<title>a: dispatch: 2 µs</title>")
	require.Contains(t, svg, "<title>a: 3 µs (2.5 to 3.5)</title>")
	require.Equal(t, 4, Marks(svg), "three pieces have a length")
	require.Equal(t, []string{"interval", "a", "3", "", "2.5", "3.5"}, bars.CSV()[4])
}

// Dots of a row are apart, an interval has caps unless it is open, and a heading has no dot.
func TestDots(t *testing.T) {
	rows := []Row{{"box", true}, {"k", false}}
	p := New("µs", "")
	p.Series = []string{"documented", "ours"}
	require.NoError(t, p.AddDots(rows, []Dot{{0, 1, 2, 1, 4}, {1, 1, 3, 3, 3}, {2, 1, 2, 1, math.Inf(1)}}))
	require.Equal(t, [2]float64{1, 4}, [2]float64{p.X.Min, p.X.Max})
	svg := p.SVG(DotsHeight(2))
	require.Contains(t, svg, "<title>box, k: documented: 2 µs (1 to 4)</title>")
	require.Contains(t, svg, "<title>box, k: ours: 3 µs</title>")
	require.Contains(t, svg, "(1 to unbounded)")
	at := regexp.MustCompile(`translate\(([\d.]+),([\d.]+)\)`).FindAllStringSubmatch(svg, -1)
	require.Len(t, at, 3)
	require.Greater(t, number(t, at[1][2]), number(t, at[0][2]))
	require.Equal(t, at[0][1], at[2][1])
	for series, strokes := range []int{3, 0, 2} {
		require.Equal(t, strokes, strings.Count(svg, "stroke:var(--s"+strconv.Itoa(series)+")"), series)
	}
	require.Equal(t, []string{"ours", "k", "3", "", "3", "3"}, p.CSV()[1])
	require.Error(t, New("", "").AddDots(rows, []Dot{{0, 0, 1, 1, 1}}), "in a heading")
	require.Error(t, New("", "").AddDots(rows, []Dot{{0, 2, 1, 1, 1}}))
	require.Error(t, New("", "").AddDots(rows, []Dot{{0, 1, math.NaN(), 1, 1}}))
}

// A swing goes from the base to each of its ends; if both are on one side, the shorter piece is in front.
func TestSwings(t *testing.T) {
	p := New("%", "")
	p.Series = []string{"low", "high"}
	require.NoError(t, p.AddSwings([]string{"a", "b"}, 10, []Swing{{5, 20}, {12, 11}}))
	svg := p.SVG(SwingsHeight(2))
	box := regexp.MustCompile(`<title>(\w): (low|high): (\d+) %</title>.*\n<path d="M([\d.]+),[\d.]+L([\d.]+),`).
		FindAllStringSubmatch(svg, -1)
	require.Len(t, box, 4)
	base := number(t, box[0][4])
	require.Equal(t, []string{"a", "high", "20"}, box[0][1:4])
	require.Equal(t, []string{"a", "low", "5"}, box[1][1:4])
	require.InDelta(t, base, number(t, box[1][5]), 0.01)
	require.Equal(t, "low", box[2][2], "the longer one is drawn first")
	require.InEpsilon(t, 2*(number(t, box[1][5])-number(t, box[1][4])), number(t, box[0][5])-number(t, box[0][4]), 0.01)
	require.Error(t, p.AddSwings([]string{"a"}, 1, nil))
	require.Error(t, p.AddSwings([]string{"a"}, 1, []Swing{{1, math.NaN()}}))
}
