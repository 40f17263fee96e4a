package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/traces/view"
)

// What each phase of Chrome's trace event format must have beside name, ph, pid, tid and
// ts, and what it may have.
var chromePhases = map[string]struct{ must, may string }{
	"M": {"args", ""},          // metadata: a name
	"X": {"cat dur", "args"},   // complete: a slice
	"B": {"cat", "args"},       // begin, and end, of a slice
	"E": {"", "args"},          //
	"b": {"cat id", "args"},    // async begin, and end
	"e": {"cat id", "args"},    //
	"i": {"cat s", "args"},     // instant
	"s": {"cat id", "args"},    // flow: start, and finish
	"f": {"cat id bp", "args"}, //
	"C": {"args", ""},          // counter
}

var (
	chromeTime = regexp.MustCompile(`^\d+\.\d{3}$`) // µs: importers must come to the same ns
	chromeID   = regexp.MustCompile(`^0x[0-9a-f]+$`)
)

// A lane is a thread.
type chromeLane struct{ pid, tid int64 }

// A chromeEvent is one of them, as it is checked.
type chromeEvent struct {
	chromeLane
	name, ph, cat, id string
	from, to          int64 // in ns; to is of X
	args              map[string]any
}

// chromeChecker checks a file by the format's grammar, and its pairs.
type chromeChecker struct {
	last     int64
	open     map[chromeLane][]chromeEvent // slices, outer ones first
	async    map[string]int64             // when each began
	used     map[string]bool
	flows    map[string]int64
	threads  map[chromeLane]string
	process  map[int64]string
	counters map[string][]string // the series of each
	phases   map[string]int
}

// parse takes an event apart.
func (c *chromeChecker) parse(raw map[string]any) (e chromeEvent, err error) {
	e.ph, _ = raw["ph"].(string)
	grammar, ok := chromePhases[e.ph]
	if !ok {
		return e, fmt.Errorf("no phase is called %v", raw["ph"])
	}
	must := append(strings.Fields(grammar.must), "name", "ph", "pid", "tid", "ts")
	for _, key := range must {
		if _, ok := raw[key]; !ok {
			return e, fmt.Errorf("%s has no %s", e.ph, key)
		}
	}
	for key, v := range raw {
		if !slices.Contains(must, key) && !slices.Contains(strings.Fields(grammar.may), key) {
			return e, fmt.Errorf("%s has %s", e.ph, key)
		}
		switch key {
		case "name", "cat":
			if s, ok := v.(string); !ok || s == "" {
				return e, fmt.Errorf("%s is %v", key, v)
			}
		case "pid", "tid":
			if _, err := v.(json.Number).Int64(); err != nil {
				return e, err
			}
		case "ts", "dur":
			if n, ok := v.(json.Number); !ok || !chromeTime.MatchString(n.String()) {
				return e, fmt.Errorf("%s is %v", key, v)
			}
		case "id":
			if s, ok := v.(string); !ok || !chromeID.MatchString(s) {
				return e, fmt.Errorf("id is %v", v)
			}
		case "bp":
			if v != "e" {
				return e, fmt.Errorf("bp is %v", v)
			}
		case "s":
			if v != "t" && v != "p" && v != "g" {
				return e, fmt.Errorf("s is %v", v)
			}
		case "args":
			if e.args, ok = v.(map[string]any); !ok {
				return e, fmt.Errorf("args is %v", v)
			}
		}
	}
	e.name, _ = raw["name"].(string)
	e.cat, _ = raw["cat"].(string)
	e.id, _ = raw["id"].(string)
	e.pid, _ = raw["pid"].(json.Number).Int64()
	e.tid, _ = raw["tid"].(json.Number).Int64()
	e.from = nanoseconds(raw["ts"])
	e.to = e.from
	if raw["dur"] != nil {
		e.to += nanoseconds(raw["dur"])
	}
	return e, nil
}

func nanoseconds(v any) int64 {
	n, _ := strconv.ParseInt(strings.Replace(v.(json.Number).String(), ".", "", 1), 10, 64)
	return n
}

// check is about an event after those before it.
func (c *chromeChecker) check(e chromeEvent) error {
	c.phases[e.ph]++
	if e.ph == "M" {
		name, _ := e.args["name"].(string)
		switch {
		case name == "" || len(e.args) != 1:
			return fmt.Errorf("metadata %v", e.args)
		case e.name == "process_name" && c.process[e.pid] == "":
			c.process[e.pid] = name
		case e.name == "thread_name" && c.threads[e.chromeLane] == "":
			c.threads[e.chromeLane] = name
		default:
			return fmt.Errorf("metadata %s, or twice", e.name)
		}
		return nil
	}
	if e.from < c.last {
		return fmt.Errorf("at %d ns, after %d ns", e.from, c.last)
	}
	c.last = e.from
	if c.process[e.pid] == "" || c.threads[e.chromeLane] == "" {
		return fmt.Errorf("the lane %v has no name", e.chromeLane)
	}
	open := c.open[e.chromeLane]
	for len(open) > 0 && open[len(open)-1].ph == "X" && open[len(open)-1].to <= e.from {
		open = open[:len(open)-1]
	}
	c.open[e.chromeLane] = open
	return c.pairs(e, open)
}

// pairs checks what goes together. open are the slices around it.
func (c *chromeChecker) pairs(e chromeEvent, open []chromeEvent) error {
	key := e.cat + " " + e.id + " " + e.name
	switch e.ph {
	case "X":
		if n := len(open); n > 0 && open[n-1].ph == "X" && e.to > open[n-1].to {
			return fmt.Errorf("it ends at %d ns, and %s around it at %d ns", e.to, open[n-1].name, open[n-1].to)
		}
		c.open[e.chromeLane] = append(open, e)
	case "B":
		c.open[e.chromeLane] = append(open, e)
	case "E":
		if n := len(open); n == 0 || open[n-1].ph != "B" {
			return fmt.Errorf("nothing to end")
		}
		c.open[e.chromeLane] = open[:len(open)-1]
	case "b":
		if c.used["async "+e.cat+" "+e.id] {
			return fmt.Errorf("its id is taken")
		}
		c.used["async "+e.cat+" "+e.id] = true
		c.async[key] = e.from
	case "e":
		if _, ok := c.async[key]; !ok {
			return fmt.Errorf("nothing to end")
		}
		delete(c.async, key)
	case "s", "f":
		if len(open) == 0 {
			return fmt.Errorf("no slice is around it, so it would be dropped")
		}
		if _, ok := c.flows[key]; ok != (e.ph == "f") || e.ph == "s" && c.used[key] {
			return fmt.Errorf("started or finished twice, or never started")
		}
		if c.used[key] = true; e.ph == "s" {
			c.flows[key] = e.from
		} else {
			delete(c.flows, key)
		}
	case "C":
		var series []string
		for name, v := range e.args {
			if n, ok := v.(json.Number); !ok || strings.HasPrefix(n.String(), "-") {
				return fmt.Errorf("%s is %v", name, v)
			}
			series = append(series, name)
		}
		slices.Sort(series)
		if was := c.counters[e.name]; len(series) == 0 || was != nil && !slices.Equal(was, series) {
			return fmt.Errorf("the series %v, and before %v", series, was)
		}
		c.counters[e.name] = series
	}
	return nil
}

// checkChrome checks a file.
func checkChrome(text string) (*chromeChecker, error) {
	var doc struct {
		DisplayTimeUnit string           `json:"displayTimeUnit"`
		TraceEvents     []map[string]any `json:"traceEvents"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if doc.DisplayTimeUnit != "ns" || d.More() {
		return nil, fmt.Errorf("the unit is %q", doc.DisplayTimeUnit)
	}
	c := &chromeChecker{open: make(map[chromeLane][]chromeEvent), async: make(map[string]int64),
		used: make(map[string]bool), flows: make(map[string]int64),
		threads: make(map[chromeLane]string), process: make(map[int64]string), counters: make(map[string][]string),
		phases: make(map[string]int)}
	for i, raw := range doc.TraceEvents {
		e, err := c.parse(raw)
		if err == nil {
			err = c.check(e)
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %v: %w", i, raw, err)
		}
	}
	for lane, open := range c.open {
		if len(open) > 0 && open[len(open)-1].ph == "B" {
			return nil, fmt.Errorf("%v: %s doesn't end", lane, open[len(open)-1].name)
		}
	}
	if len(c.async) > 0 || len(c.flows) > 0 {
		return nil, fmt.Errorf("these don't end: %v %v", c.async, c.flows)
	}
	return c, nil
}

// TestExportChrome: the file is as the format's grammar says, slices of a lane lie in each
// other, what begins ends, arrows have two ends with a slice around each, times go up, and
// each event is there.
func TestExportChrome(t *testing.T) {
	phases := make(map[string]int)
	exported(t, "chrome", func(name, text string, s *view.Scene) {
		c, err := checkChrome(text)
		require.NoError(t, err, name)
		require.Equal(t, len(s.Steps)+len(s.Deviations), c.phases["i"], name)
		require.Equal(t, len(s.Arrows), c.phases["s"], name)
		for ph, n := range c.phases {
			phases[ph] += n
		}
	})
	for _, ph := range []string{"M", "X", "b", "e", "i", "s", "f", "C"} {
		require.NotZero(t, phases[ph], ph)
	}
}

// TestCheckChrome: the checker refuses what importers drop.
func TestCheckChrome(t *testing.T) {
	const names = `{"name":"process_name","ph":"M","pid":1,"tid":0,"ts":0.000,"args":{"name":"p"}},{"name":"thread_name","ph":"M","pid":1,"tid":0,"ts":0.000,"args":{"name":"t"}}`
	for _, c := range []struct{ events, want string }{
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":0,"ts":1.000,"dur":2.000}`, ""},
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":0,"ts":1.000}`, "has no dur"},
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":1,"ts":1.000,"dur":2.000}`, "has no name"},
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":0,"ts":1.0000001,"dur":2.000}`, "ts is"},
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":0,"ts":1.000,"dur":2.000},{"name":"b","cat":"c","ph":"X","pid":1,"tid":0,"ts":2.000,"dur":2.000}`, "around it"},
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":0,"ts":1.000,"dur":2.000},{"name":"b","cat":"c","ph":"i","s":"t","pid":1,"tid":0,"ts":0.500}`, "after"},
		{`{"name":"a","cat":"c","ph":"B","pid":1,"tid":0,"ts":1.000}`, "doesn't end"},
		{`{"name":"a","ph":"E","pid":1,"tid":0,"ts":1.000}`, "nothing to end"},
		{`{"name":"a","cat":"c","id":"0x1","ph":"b","pid":1,"tid":0,"ts":1.000}`, "don't end"},
		{`{"name":"a","cat":"c","id":"0x1","ph":"s","pid":1,"tid":0,"ts":1.000}`, "no slice is around it"},
		{`{"name":"a","cat":"c","ph":"X","pid":1,"tid":0,"ts":1.000,"dur":2.000},{"name":"a","cat":"c","id":"0x1","bp":"e","ph":"f","pid":1,"tid":0,"ts":1.000}`, "never started"},
		{`{"name":"a","ph":"C","pid":1,"tid":0,"ts":1.000,"args":{"x":"1"}}`, "is 1"},
		{`{"name":"a","ph":"Q","pid":1,"tid":0,"ts":1.000}`, "no phase"},
		{`{"name":"a","cat":"c","ph":"i","s":"x","pid":1,"tid":0,"ts":1.000}`, "s is x"},
	} {
		_, err := checkChrome(`{"displayTimeUnit":"ns","traceEvents":[` + names + "," + c.events + `]}`)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want, c.events)
		}
	}
}
