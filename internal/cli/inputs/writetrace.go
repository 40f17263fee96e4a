package inputs

import (
	"errors"
	"fmt"

	"kpsim/internal/cli"
	"kpsim/traces"
)

// An Unreadable error says that a trace isn't written, because kpsim would refuse to read it.
type Unreadable struct {
	Path       string
	Deviations int   // of the run
	Refusal    error // how it is refused, if not for being so many
}

// Error names the file, and what is wrong with it; Remedy says what to do.
func (u *Unreadable) Error() string {
	if u.Refusal != nil {
		return fmt.Sprintf("%s isn't written, since it would be refused: %v", u.Path, u.Refusal)
	}
	return fmt.Sprintf("%s isn't written: it would have %d deviations, and no more than %d are read", u.Path,
		u.Deviations, traces.MaxDeviations)
}

// Few is a strategy whose runs have few deviations: what to search with if a trace has too many.
const Few = "pct"

// TraceText is what a trace's file is to hold. Whatever writes or sends one takes it from here:
// an *Unreadable error says that kpsim would refuse it.
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

// WriteTrace writes a trace's file, and returns what it holds, also if that can't be written.
func WriteTrace(path string, f *traces.File) (text []byte, err error) {
	if text, err = TraceText(path, f); err != nil {
		return text, err
	}
	return text, cli.WriteWhole(path, text)
}

// Unsaved says why a trace isn't written, and what to do about that.
func Unsaved(err error, path string) (why, remedy string) {
	if u := new(Unreadable); errors.As(err, &u) {
		return u.Error(), fmt.Sprintf("%s explore --strategy %s makes runs of fewer deviations", cli.Typed(), Few)
	}
	return cli.Cause(err, path), cli.MakeRoom
}
