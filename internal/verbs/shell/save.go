package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/version"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// save is the command save: it writes the run so far as a trace. The trace is replayed first, and must make the same
// events.
func (h *sh) save(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	path := args[0]
	switch _, err := os.Lstat(path); {
	case !strings.HasSuffix(path, ".kps"):
		return fmt.Errorf("%s: a trace is a file NAME.kps; write save %s.kps", path, path)
	case err == nil:
		return fmt.Errorf("%s: is there already, and is left as it is; give another name", path)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s; give another name", cli.Cause(err, path))
	case h.s.HandMade != "":
		return fmt.Errorf("a trace has a scenario and its schedule, and this run has %s, typed by hand: make it a "+
			"task of the scenario (list prints that), and open it", h.s.HandMade)
	}
	if held := h.s.held(); h.s.Run == nil && len(held) > 0 {
		return fmt.Errorf("not begun: %s; in a trace all tasks begin at once, so type start first", cli.List(held))
	}
	file := h.file()
	r, err := replay.Play(path, file, true)
	if err != nil {
		return err
	}
	defer r.Rig.Close()
	if unbroken(h) && r.Property != nil { // by what comes after the session's place
		file.Property, file.Place, file.Message = r.Property.ID, r.Place, r.Message
	}
	at, why := h.differs(r)
	if why != "" {
		return fmt.Errorf("it isn't written: played again, %s; start all tasks at once, with run or start, and "+
			"step then", why)
	}
	file.Digest, file.Format = r.Digest, traces.ScheduleFormat
	file.WrittenBy(version.This().String())
	if _, err := inputs.WriteTrace(path, file); err != nil {
		why, remedy := inputs.Unsaved(err, path)
		return fmt.Errorf("%s; %s", why, remedy)
	}
	if unbroken(h) {
		printUnbroken(h, path, file)
	} else {
		h.p.Indented("", fmt.Sprintf("%s: %s, %s", path, cli.Number(len(file.Schedule), "deviation"), h.s.Verdict()))
		h.p.Next("", "to explain:", cli.Line(cli.Typed(), "explain", cli.AsFile(path)))
	}
	if last := len(h.s.Rig.Log.Events) - 1; at >= 0 && at != last {
		h.p.Indented("", fmt.Sprintf("here is after event %d of this session, and after event %d of the trace", last,
			at))
	}
	if h.c.isTrace() {
		h.p.Next("", "to compare:", cli.Line(cli.Typed(), "view", cli.AsFile(h.c.What), cli.AsFile(path)))
	}
	return nil
}

// unbroken reports whether the run has broken no property so far.
func unbroken(h *sh) bool { return h.s.Run == nil || h.s.Run.Property == nil }

// printUnbroken says what the trace of a run is that has broken nothing so far, and how to come to the same place.
func printUnbroken(h *sh, path string, file *traces.File) {
	says := "breaks nothing"
	if file.Property != traces.NoProperty {
		says = "breaks " + file.Property
	}
	if h.s.Run == nil {
		says = fmt.Sprintf("the run up to step %d; after it the default run goes on, and %s", h.s.steps(), says)
	}
	h.p.Indented("", fmt.Sprintf("%s: %s, %s", path, cli.Number(len(file.Schedule), "deviation"), says))
	next := cli.Line(cli.Typed(), "shell", cli.AsFile(path))
	if h.s.Run == nil {
		next += fmt.Sprintf("   # then step %d", h.s.steps())
	}
	h.p.Next("", "to go on from here:", next)
}

// differs says how a replay differs from the run, "" if it doesn't. What comes before the first step has another order:
// a session wakes the tasks later. A session of a scenario watches all text, a replay only that which may be stored to:
// instructions of the rest are events of the session alone, and what a call is to return (Expect) is one of the
// replay's. at is the replay's number of the session's last event, or of the last before it that the replay has, too;
// -1: there is none.
func (h *sh) differs(r *replay.Replay) (at int, why string) {
	at = -1
	if !r.Same && !unbroken(h) {
		return at, r.Why
	}
	was, is := moving(h.s.Rig.Log.Events), moving(r.Rig.Log.Events)
	next := 0 // of is
	for _, a := range was {
		seq := a.Seq
		a.Seq = 0
		if next < len(is) {
			b := is[next]
			number := b.Seq
			if b.Seq = 0; a == b {
				at = int(number)
				next++
				continue
			}
		}
		if a.Kind == smpev.Exec {
			continue
		}
		if next == len(is) {
			return at, fmt.Sprintf("it ends before event %d", seq)
		}
		return at, fmt.Sprintf("event %d is another one", seq)
	}
	if next < len(is) && h.s.Run != nil { // else the replay goes on to the end
		return at, fmt.Sprintf("it has %s more", cli.Number(len(is)-next, "event"))
	}
	return at, ""
}

// moving returns the events from the first switch on.
func moving(list []traces.Event) []traces.Event {
	i := slices.IndexFunc(list, func(e traces.Event) bool { return e.Kind == smpev.Switch })
	return list[max(i, 0):]
}

// file returns the trace of the run.
func (h *sh) file() *traces.File {
	run, m := h.s.Run, h.s.Rig.Machine
	file := &traces.File{
		Scenario: lang.Print(h.s.Rig.Scenario), Schedule: h.s.Schedule(), Property: traces.NoProperty,
		Origin: slices.Clone(h.c.origin), // Format 0: the digest isn't known yet
	}
	if unbroken(h) {
		return file
	}
	file.Property, file.Message = run.Property.ID, h.s.Rig.Message(run)
	if run.Finding.Place != 0 {
		file.Place = m.Names().SymbolName(run.Finding.Place)
	}
	return file
}
