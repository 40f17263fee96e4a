package verdict

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"kpsim/sim"
)

// The objects of SARIF 2.1.0, by the names of the specification (docs.oasis-open.org/sarif/sarif/v2.1.0).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		Properties  sarifCounts       `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string       `json:"id"`
		Name  string       `json:"name"`
		Short sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		CommandLine string              `json:"commandLine,omitempty"`
		ExitCode    int                 `json:"exitCode"`
		Successful  bool                `json:"executionSuccessful"`
		Errors      []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   sarifCase         `json:"properties"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Full string `json:"fullyQualifiedName"`
	}
	// Property bags, which the specification leaves to the tool.
	sarifCounts struct {
		Passed  int `json:"passed"`
		Failed  int `json:"failed"`
		Skipped int `json:"skipped"`
		Errored int `json:"errored"`
	}
	sarifCase struct {
		Group string   `json:"group"`
		Case  string   `json:"case"`
		Notes []string `json:"notes,omitempty"`
		Trace string   `json:"trace,omitempty"`
		Next  string   `json:"next,omitempty"`
	}
)

// sarifSchema is the address that names the schema.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// fingerprintName names the way in which fingerprints are made: with another way it has another number.
const fingerprintName = "kpsim/v1"

// sarif writes SARIF: a result for each case that failed, at the level error, and for each skipped case with a rule,
// at the level note. Errors are notifications of the invocation.
func sarif(b *bytes.Buffer, l *List) {
	rules := Rules()
	n := l.Counts()
	run := sarifRun{Results: []sarifResult{}, Properties: sarifCounts(n)}
	run.Tool.Driver = sarifDriver{Name: "kpsim", Version: l.Version}
	for _, r := range rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{r.ID, r.Name, sarifMessage{r.Says}})
	}
	call := sarifInvocation{CommandLine: oneLine(l.Command), ExitCode: l.Status, Successful: l.Status <= 1}
	for _, g := range l.groups() {
		for _, c := range g.cases {
			switch {
			case c.Outcome == Errored:
				says := c.Group + ", " + c.Name + ": " + strings.Join(c.about(), "\n")
				call.Errors = append(call.Errors, sarifNotification{"error", sarifMessage{says}})
			case c.Outcome == Failed:
				run.Results = append(run.Results, c.sarif(rules, "error"))
			case c.Outcome == Skipped && c.Rule != "":
				run.Results = append(run.Results, c.sarif(rules, "note"))
			}
		}
	}
	run.Invocations = []sarifInvocation{call}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}); err != nil {
		sim.Bug("SARIF: %v", err) // the types are ours, and a buffer takes everything
	}
}

// sarif returns the result of a case. Its first place is the location; readers show one.
func (c *Case) sarif(rules []Rule, level string) sarifResult {
	rule := index(rules, c.Rule)
	if rule < 0 {
		sim.Bug("a case of %s breaks the rule %q, which there isn't", c.Group, c.Rule)
	}
	text := []string{c.Group + ", " + c.Name + ": " + c.Says}
	if c.Next != "" {
		text = append(text, "Next: "+c.Next)
	}
	r := sarifResult{RuleID: c.Rule, RuleIndex: rule, Level: level, Message: sarifMessage{strings.Join(text, "\n")},
		Fingerprints: map[string]string{fingerprintName: c.fingerprint()},
		Properties:   sarifCase{c.Group, c.Name, c.Notes, c.Trace, c.Next},
	}
	main := sarifLocation{Logical: []sarifLogical{{c.Name, c.Group + "/" + c.Name}}}
	for i, p := range c.Places {
		if i == 0 {
			main.Physical = p.sarif()
			continue
		}
		at := sarifLocation{ID: i, Physical: p.sarif()}
		if p.Says != "" {
			at.Message = &sarifMessage{p.Says}
		}
		r.Related = append(r.Related, at)
	}
	r.Locations = []sarifLocation{main}
	return r
}

// sarif returns a place as a file by a URI: relative to the folder in which kpsim runs, unless it was named from the
// root.
func (p Place) sarif() *sarifPhysical {
	u := url.URL{Path: filepath.ToSlash(p.File)}
	if filepath.IsAbs(p.File) {
		u.Scheme = "file"
	}
	at := &sarifPhysical{Artifact: sarifArtifact{u.String()}}
	if p.Line > 0 {
		at.Region = &sarifRegion{p.Line}
	}
	return at
}
