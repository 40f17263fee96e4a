package traces

import (
	"slices"
	"strings"
	"testing"

	"kpsim/sim"
)

var deviations = []struct {
	d    Deviation
	line string
}{
	{Deviation{"cpu1", "victim", 1, true, 1, sim.Step, "timer@cpu1"}, "cpu1 in victim+0x1, 1st time: timer@cpu1"},
	{Deviation{"cpu1", "victim", 0, true, 2, sim.Fetch, "older 1"}, "cpu1 in victim+0x0, 2nd time, fetch: older 1"},
	{Deviation{"cpu0", "text_poke_bp", 3, false, 3, sim.Step, "cpu1"}, "cpu0 in text_poke_bp step 3, 3rd time: cpu1"},
	{Deviation{"cpu0", "idle", 0, false, 11, sim.Task, "shell"}, "cpu0 in idle, 11th time, task: shell"},
	{Deviation{"cpu0", "int3 iret", 0, false, 112, sim.Step, "ipi@cpu1"}, "cpu0 in int3 iret, 112th time: ipi@cpu1"},
	{Deviation{"ipi@cpu0", "foo.part.0", 0x1f, true, 21, sim.Step, "cpu0"},
		"ipi@cpu0 in foo.part.0+0x1f, 21st time: cpu0"},
	{Deviation{"cpu0", "text", -1, true, 1, sim.Cost, "1"}, "cpu0 in text+0xffffffffffffffff, 1st time, cost: 1"},
	{Deviation{"the timer", "a, b: c", 1, true, 1, sim.Step, ""}, `"the timer" in "a, b: c"+0x1, 1st time: ""`},
	{Deviation{"#", "a step", 2, false, 1, sim.Step, "a: \n"}, `"#" in "a step" step 2, 1st time: "a: \n"`},
	{Deviation{"cpu0", "", 0, false, 1, sim.Step, "a, 1st time: b"}, `cpu0 in "", 1st time: a, 1st time: b`},
}

// Those of a machine whose memory isn't sequentially consistent.
var weakDeviations = []struct {
	d    Deviation
	line string
}{
	{Deviation{"cpu0", "idle", 0, false, 1, sim.Buffer, "held"}, "cpu0 in idle, 1st time, buffer: held"},
	{Deviation{"cpu1", "text_poke_bp", 3, false, 2, sim.Version, "older 1"},
		"cpu1 in text_poke_bp step 3, 2nd time, version: older 1"},
	{Deviation{"drain@cpu1", "writer", 7, true, 1, sim.Step, "cpu0"}, "drain@cpu1 in writer+0x7, 1st time: cpu0"},
}

func TestDeviationText(t *testing.T) {
	for _, test := range slices.Concat(deviations, weakDeviations) {
		if got := test.d.String(); got != test.line {
			t.Errorf("%+v\nprints  %s\nwant    %s", test.d, got, test.line)
		}
		list, err := ParseSchedule("\n# remark\n  " + test.line + "  \r\n\n")
		if err != nil || len(list) != 1 || list[0] != test.d {
			t.Errorf("%s\nreads  %+v, %v\nwant   %+v", test.line, list, err, test.d)
		}
	}
}

func TestOrdinalTakesAnyEnding(t *testing.T) {
	list, err := ParseSchedule("cpu1 in victim+1, 2th time: cpu0")
	if err != nil || list[0].String() != "cpu1 in victim+0x1, 2nd time: cpu0" {
		t.Error(list, err)
	}
}

func TestScheduleErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"nonsense", "line 1: after \"nonsense\" comes no ` in PLACE`: write it like `cpu1 in victim+0x1, 1st time: timer@cpu1`"},
		{"\n#\n: x", `line 3: ": x" doesn't begin with the name of a mover`},
		{"cpu1 in , 1st time: x", "comes no place"},
		{"cpu1 in v+zz, 1st time: x", `the offset "zz" is no number`},
		{"cpu1 in v step x, 1st time: x", `the step "x" is no number`},
		{"cpu1 in v", "after the place comes no `, 1st time`"},
		{"cpu1 in v, first time: x", `"first" is no ordinal`},
		{"cpu1 in v, 0th time: x", `"0th" is no ordinal`},
		{"cpu1 in v, 1st", "after \"1st\" comes no ` time`"},
		{"cpu1 in v, 1st time", "comes no `: ALTERNATIVE`"},
		{"cpu1 in v, 1st time, fetsh: x", `there are no "fetsh" questions`},
		{"cpu1 in v, 1st time: ", "comes no `: ALTERNATIVE`"},
		{`cpu1 in v, 1st time: "x`, "is no alternative"},
		{`"cpu1 in v, 1st time: x`, "doesn't begin"},
		{"cpu1 in v, 1st time: x\n\ncpu1 in v, 1st time: y",
			"line 3: this is the question of line 1: delete one of the two"},
	} {
		_, err := ParseSchedule(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v\nwant … %s …", test.text, err, test.want)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	var all strings.Builder
	for _, test := range deviations {
		f.Add(test.line)
		all.WriteString(test.line + "\n")
	}
	f.Add(all.String())
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseSchedule(text)
		if err != nil {
			return
		}
		printed := FormatSchedule(list)
		again, err := ParseSchedule(printed)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%q prints as %q: %v", text, printed, err)
		}
		for i := range list {
			if again[i] != list[i] {
				t.Fatalf("%+v reads back as %+v", list[i], again[i])
			}
		}
	})
}

func FuzzDeviation(f *testing.F) {
	f.Add("cpu1", "victim", 1, true, 1, uint8(0), "timer@cpu1")
	f.Add("", " step ", -1, false, 1<<40, uint8(2), "\x00\xff\u2028")
	f.Fuzz(func(t *testing.T, mover, name string, off int, text bool, occ int, kind uint8, alt string) {
		if occ < 1 || mover == "" {
			return
		}
		d := Deviation{mover, name, off, text, occ, sim.Kind(kind % 4), alt}
		if list, err := ParseSchedule(d.String()); err != nil || len(list) != 1 || list[0] != d {
			t.Fatalf("%+v prints as %q reads as %+v, %v", d, d.String(), list, err)
		}
	})
}
