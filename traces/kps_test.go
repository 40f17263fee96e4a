package traces

import (
	"reflect"
	"strings"
	"testing"
)

func exampleFile() *File {
	f := &File{
		Scenario: "machine(cpus = 2)\nf = text(\"f\", \"55\")\n",
		Property: "T1",
		Place:    "victim+0x1",
		Message:  "bytes blend two instructions",
		Digest:   0x00123456789abcde,
		Format:   ScheduleFormat,
		Origin: []Remark{
			{"strategy", "sticky 64"}, {"seed", "33"}, {"run", "12"}, {OriginMutant, "no-sync-2"},
			{OriginFetch, "mixing"},
		},
	}
	for _, d := range deviations {
		f.Schedule = append(f.Schedule, d.d)
	}
	return f
}

const exampleText = `kpsim trace: T1 at victim+0x1: bytes blend two instructions

One run of a simulated machine: what was run, each choice that
differs from the default run, and what came of it. All of it may be
edited; lines of the schedule that begin with # don't count.

to replay:  kpsim replay FILE

-- scenario.star --
machine(cpus = 2)
f = text("f", "55")
-- schedule --
cpu1 in victim+0x1, 1st time: timer@cpu1
-- verdict --
property: T1
place: victim+0x1
message: bytes blend two instructions
-- digest --
0x00123456789abcde
-- origin --
strategy: sticky 64
seed: 33
run: 12
mutant: no-sync-2
fetch: mixing
schedule format: 2
`

func TestMarshal(t *testing.T) {
	f := exampleFile()
	f.Schedule = f.Schedule[:1]
	if got := string(f.Marshal()); got != exampleText {
		t.Errorf("got\n%s\nwant\n%s", got, exampleText)
	}
}

func TestRoundTrip(t *testing.T) {
	odd := exampleFile()
	odd.Scenario = "x = '''\n-- schedule --\n\\-- origin --\n\\\\-- --\n'''\n"
	odd.Message = "two\nlines: \"and\" quotes "
	odd.Place, odd.Schedule = "", nil
	odd.Origin = []Remark{{"a: key", " v "}, {"#", `"`}}
	for _, f := range []*File{exampleFile(), odd} {
		text := f.Marshal()
		got, err := Parse("x.kps", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(got.Schedule) == 0 {
			got.Schedule = nil
		}
		got.lines = scenarioLines{} // f wasn't read from a file
		if !reflect.DeepEqual(f, got) {
			t.Errorf("got\n%+v\nwant\n%+v", got, f)
		}
		mailed := strings.ReplaceAll(string(text), "\n", "\r\n")
		if got, err := Parse("x.kps", []byte(mailed)); err != nil || got.Scenario != f.Scenario {
			t.Errorf("with CRLF: %v", err)
		}
	}
}

func TestRemark(t *testing.T) {
	f := exampleFile()
	if f.Remark(OriginMutant) != "no-sync-2" || f.Remark("nothing") != "" {
		t.Error("Remark")
	}
}

// TestCutOff truncates a file after each byte: only a missing last newline goes
// unnoticed.
func TestCutOff(t *testing.T) {
	text := exampleFile().Marshal()
	for n := range len(text) - 1 {
		f, err := Parse("x.kps", text[:n])
		if err == nil {
			t.Errorf("cut after %d bytes it reads as %+v", n, f)
		} else if !strings.HasPrefix(err.Error(), "x.kps:") || strings.Contains(err.Error(), "\n") {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{exampleText, "kpsim trac",
			"x.kps:1: this kpsim trace is cut off: it has no line `-- scenario.star --`; get the whole file"},
		{exampleText, "hello\n",
			"x.kps:1: this is no kpsim trace: it has no line `-- scenario.star --`; give a file that kpsim has written"},
		{"-- digest --\n0x00123456789abcde\n", "",
			"x.kps:24: section digest is missing: the file was cut off or edited; restore it, or let kpsim explore write it anew"},
		{"-- schedule --", "-- shedule --",
			`x.kps:12: there is no section "shedule": the sections are scenario.star, schedule, verdict, digest, origin; correct the name, or delete it`},
		{"-- verdict --", "-- schedule --\n-- verdict --", "x.kps:14: section schedule is here twice: delete one"},
		{"1st time", "once", "x.kps:13: section schedule: \"once\" is no ordinal such as 1st, 2nd, 3rd, 4th: write it like `cpu1 in victim+0x1, 1st time: timer@cpu1`"},
		{"property: T1\n", "",
			"x.kps:14: section verdict: it has no line `property: ID`: say which property the run violates"},
		{"place: v", "plaice: v",
			`x.kps:16: section verdict: it has no "plaice": its lines are property, place and message`},
		{"property: T1", "property T1", "x.kps:15: section verdict: \"property T1\" is no line `key: value`"},
		{"property: T1", `property: "T1`,
			"x.kps:15: section verdict: the quotes of \"\\\"T1\" don't match: correct or delete them"},
		{"place: victim+0x1", "property: T2",
			`x.kps:16: section verdict: it has "property" in line 1 of it already: delete one`},
		{"0x00123456789abcde", "deadbeef",
			`x.kps:19: section digest: "deadbeef" is no digest: write 0x and 16 hexadecimal digits, or explore again`},
		{"schedule format: 2\n", "",
			"x.kps:20: section origin: its last line isn't `schedule format: 2`: the file was cut off or edited; restore it"},
		{"format: 2", "format: 3",
			"x.kps:26: section origin: schedule format 3 is of a newer kpsim, this one reads up to 2: update it"},
		{"format: 2", "format: one", `x.kps:26: section origin: "one" is no schedule format: this kpsim writes 2`},
		{"machine(cpus = 2)\nf = text(\"f\", \"55\")\n", "\n",
			"x.kps:9: section scenario.star: it is empty: put the scenario's Starlark program there"},
	} {
		text := strings.Replace(exampleText, test.old, test.new, 1)
		_, err := Parse("x.kps", []byte(text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%q for %q:\n%v\nwant\n%s", test.new, test.old, err, test.want)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add(exampleFile().Marshal())
	f.Add([]byte(exampleText))
	f.Add([]byte("-- scenario.star --\n\\-- schedule --\n-- schedule --\n-- verdict --\nproperty: x\n-- digest --\n0x0\n-- origin --\nschedule format: 2"))
	long := exampleFile()
	long.Message += strings.Repeat(" and more", 10)
	text := string(long.Marshal())
	f.Add([]byte("> " + strings.ReplaceAll(text, "\n", "\n> ")))
	f.Add([]byte("> > " + strings.ReplaceAll(strings.ReplaceAll(text, "=", "=3D"), "\n", "\r\n> > ")))
	f.Add([]byte("-----BEGIN PGP SIGNED MESSAGE-----\n\n" + strings.ReplaceAll(text, "\n-", "\n- -") +
		"-----BEGIN PGP SIGNATURE-----\n"))
	f.Add([]byte(strings.ReplaceAll(exampleText, " ", " \n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("x.kps", data)
		if err != nil {
			if s := err.Error(); !strings.HasPrefix(s, "x.kps:") || strings.Contains(s, "\n") {
				t.Fatalf("%q", s)
			}
			return
		}
		text := file.Marshal()
		again, err := Parse("x.kps", text)
		if err != nil {
			t.Fatalf("%v\n%q\n%q", err, data, text)
		}
		if string(again.Marshal()) != string(text) {
			t.Fatalf("%q prints as\n%q, then as\n%q", data, text, again.Marshal())
		}
	})
}
