package inputs

import (
	"errors"
	"fmt"

	"kpsim/internal/ui/cli"
	"kpsim/traces"
)

// An Unreadable error reports that a trace isn't written because kpsim would refuse to read it.
type Unreadable struct {
	Path       string
	Deviations int   // number of deviations of the run
	Refusal    error // why reading it fails, if not for the number of deviations
}

// Error names the file and the problem; Remedy says what to do.
func (u *Unreadable) Error() string {
	if u.Refusal != nil {
		return fmt.Sprintf("%s isn't written, since it would be refused: %v", u.Path, u.Refusal)
	}
	return fmt.Sprintf("%s isn't written: it would have %d deviations, and no more than %d are read", u.Path,
		u.Deviations, traces.MaxDeviations)
}

// Few is a strategy with few deviations per run, suggested if a trace has too many.
const Few = "pct"

// TraceText returns the contents of a trace's file. Everything that writes or sends a trace uses
// it; an *Unreadable error says that kpsim would refuse to read it.
func TraceText(path string, f *traces.File) ([]byte, error) {
	text := f.Marshal()
	if len(f.Schedule) > traces.MaxDeviations {
		return text, &Unreadable{path, len(f.Schedule), nil}
	}
	if len(text) > cli.MostTrace {
		return text, &Unreadable{path, len(f.Schedule), fmt.Errorf("%s: it has %d bytes, and no more than %d are read",
			path, len(text), cli.MostTrace)}
	}
	if _, err := traces.Parse(path, text); err != nil {
		return text, &Unreadable{path, len(f.Schedule), err}
	}
	return text, nil
}

// WriteTrace writes a trace's file. It returns the contents even if they can't be written.
func WriteTrace(path string, f *traces.File) (text []byte, err error) {
	if text, err = TraceText(path, f); err != nil {
		return text, err
	}
	return text, cli.WriteWhole(path, text)
}

// Unsaved returns why a trace isn't written, and a remedy.
func Unsaved(err error, path string) (why, remedy string) {
	if u := new(Unreadable); errors.As(err, &u) {
		return u.Error(), fmt.Sprintf("%s explore --strategy %s makes runs of fewer deviations", cli.Typed(), Few)
	}
	return cli.Cause(err, path), cli.MakeRoom
}
