package catalogue

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"kpsim/internal/ui/cli"
	"kpsim/internal/version"
	"kpsim/traces"
)

// What Go has noted is printed, and what it hasn't is said not to be known.
func TestVersion(t *testing.T) {
	vcs := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main: debug.Module{Path: version.Module, Version: "v1.2.3"},
			Deps: []*debug.Module{{Path: "example.org/a", Version: "v0.1.0"},
				{Path: "example.org/b", Replace: &debug.Module{Path: "../b"}}},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "c0ffee"},
				{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: modified}},
		}
	}
	none := &debug.BuildInfo{Main: debug.Module{Path: version.Module, Version: "(devel)"}}
	no := vcs("false")
	no.Settings = no.Settings[:1]
	for want, info := range map[string]*debug.BuildInfo{
		"kpsim            v1.2.3\ncommit           c0ffee of 2026-01-02T03:04:05Z, modified\nfrom             module kpsim\ngo   ":                                                     vcs("true"),
		"kpsim            v1.2.3\ncommit           c0ffee of 2026-01-02T03:04:05Z\nfrom             module kpsim\ngo   ":                                                               vcs("false"),
		"kpsim            v1.2.3\ncommit           c0ffee, not known whether modified\nfrom             module kpsim\ngo   ":                                                           no,
		"kpsim            no version is known\ncommit           not known: Go has noted none; go build -buildvcs=true ./cmd/kpsim in a clone does\nfrom             module kpsim\ngo ": none,
		"kpsim            no version is known\ncommit           not known":                                                                                                             nil,
	} {
		var out bytes.Buffer
		builtFrom(version.Of(info), info).print(cli.New(&out, &out))
		if got := out.String(); !strings.HasPrefix(got, want) ||
			!strings.Contains(got, fmt.Sprintf("\nschedule format  %d\nmodules\n", traces.ScheduleFormat)) {
			t.Errorf("%s\nwant %s", got, want)
		}
		if got := out.String(); info != nil && info.Deps != nil &&
			!strings.HasSuffix(got, "modules\n  example.org/a  v0.1.0\n  ../b           (a folder)\n") {
			t.Errorf("%s", got)
		}
	}
}
