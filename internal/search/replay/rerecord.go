package replay

import (
	"bytes"
	"slices"

	"kpsim/internal/version"
	"kpsim/sched"
	"kpsim/traces"
)

// Rerecord runs a trace file again and updates labels, message, digest and schedule format; the
// rest of the file stays. The run must break the file's property at its place, or anywhere with
// anyPlace. If it doesn't, the returned file is nil, and the replay says how it ended. The caller
// closes the replay's rig. Errors are about the file.
func Rerecord(name string, f *traces.File, anyPlace bool) (*traces.File, *Replay, error) {
	r, err := playFile(name, f, false, anyPlace)
	if err != nil {
		return nil, nil, err
	}
	if !r.Breaks && !(anyPlace && r.BreaksProperty(f)) {
		return nil, r, nil
	}
	now := *f
	now.SetSchedule(slices.Clone(r.Taken))
	now.Place, now.Message, now.Digest, now.Format = r.Place, r.Message, r.Digest, traces.ScheduleFormat
	again := *r
	again.play(sched.NewAnchored(r.Taken, r.Rig.Machine.Names()), 0)
	if again.compare(&now); !again.Same { // with two tasks of one name, labels are ambiguous
		r.Why = "its labels don't lead to the run they were taken from: " + again.Why
		return nil, r, nil
	}
	if !bytes.Equal(now.Marshal(), f.Marshal()) {
		now.WrittenBy(version.This().String())
	}
	return &now, r, nil
}
