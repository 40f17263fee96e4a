package verdict

import (
	"bytes"
	"encoding/xml"
	"strings"

	"kpsim/sim"
)

// The elements of JUnit XML, as Jenkins' and Maven's readers know them. file and line of a case are those that GitLab
// and others show.
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name     string    `xml:"name,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Errors   int       `xml:"errors,attr"`
		Skipped  int       `xml:"skipped,attr"`
		Cases    []xmlCase `xml:"testcase"`
	}
	xmlCase struct {
		Name      string   `xml:"name,attr"`
		Class     string   `xml:"classname,attr"`
		File      string   `xml:"file,attr,omitempty"`
		Line      int      `xml:"line,attr,omitempty"`
		Failure   *xmlText `xml:"failure"`
		Error     *xmlText `xml:"error"`
		Skipped   *xmlText `xml:"skipped"`
		SystemOut *xmlOut  `xml:"system-out"`
	}
	xmlText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
	xmlOut struct {
		Text string `xml:",cdata"`
	}
)

// junitXML writes JUnit XML. A group is a test suite.
func junitXML(b *bytes.Buffer, l *List) {
	all := xmlSuites{Name: "kpsim " + l.Verb}
	for _, g := range l.groups() {
		s := xmlSuite{Name: g.name, Tests: len(g.cases), Failures: g.Failed, Errors: g.Errored, Skipped: g.Skipped}
		for _, c := range g.cases {
			s.Cases = append(s.Cases, c.xml())
		}
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Errors, all.Skipped = all.Errors+s.Errors, all.Skipped+s.Skipped
	}
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		sim.Bug("JUnit XML: %v", err) // the types are ours, and a buffer takes everything
	}
	b.WriteByte('\n')
}

func (c *Case) xml() xmlCase {
	x := xmlCase{Name: c.Name, Class: c.Group}
	if len(c.Places) > 0 {
		x.File, x.Line = oneLine(c.Places[0].File), c.Places[0].Line
	}
	about := c.about()
	first := ""
	if len(about) > 0 {
		first = about[0]
	}
	text := &xmlText{Message: first, Type: c.Rule, Text: strings.Join(about, "\n")}
	switch c.Outcome {
	case Failed:
		x.Failure = text
	case Errored:
		x.Error = text
	case Skipped:
		x.Skipped = &xmlText{Message: first}
	}
	if (c.Outcome == Skipped || c.Outcome == Passed) && text.Text != "" {
		x.SystemOut = &xmlOut{text.Text}
	}
	return x
}
